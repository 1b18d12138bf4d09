"""What `help` says of a construct: the form, the perspective and the first example of its page in docs/reference.

`pages.json` has them, for the wheel has no docs/reference beside the modules: tests/lang/test_help.py --update-golden writes it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("pages.json")


@cache
def pages() -> dict[str, dict[str, str]]:
    """Return the parts of each construct's page, by its name."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def construct_help(name: str, line: str) -> str:
    """Return a construct's help: its line, then what its page says."""
    parts = [f"{title}:\n\n{text}" for title, text in pages().get(name, {}).items()]
    return "\n\n".join([line, *parts, f"`prism help {name}` prints the whole page."])
