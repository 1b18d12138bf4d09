"""What `help` says of a construct: the form, the perspective and the first example of its page in docs/reference.

`pages.json` has them, for the wheel has no docs/reference beside the modules: tests/lang/test_help.py --update-golden writes it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("pages.json")
TAKES = {
    "array": "T, axes",
    "assert_": "condition, text",
    "assume": "condition",
    "async_": "x",
    "breakpoint": "",
    "cdiv": "a, b",
    "claim": "x, unit, offset=0, *, in_flight=0",
    "column": "acc, i",
    "const": "T",
    "constexpr": "kind, *, default=...",
    "count": "unit, axis=...",
    "CUtensorMap": "T, *extents, swizzle=0",
    "distinct": "*values",
    "dtype": "*, default=...",
    "fragment": "T, rows, columns, *, operand=False",
    "function": "*, default=...",
    "group": "unit",
    "id": "unit=..., axis=...",
    "mailbox": "T",
    "one": "unit",
    "partition": 'x, unit, offset=0, *, races="proved"',
    "print_": "text, *values",
    "ptr": "T",
    "roles": "level, *sizes",
    "row": "acc, i",
    "shared": "array, *, align=..., ring=1, swizzle=0",
    "split": "level",
    "static_assert": "condition, text",
    "turns": "role",
    "unsafe": "text, *, reads=..., writes=..., meaning=None",
    "vector": "T, n",
    "wgmma_async": "",
}
"""What each construct takes, as `prism.lang.keep.help_text.signature` reads it."""


@cache
def pages() -> dict[str, dict[str, str]]:
    """Return the parts of each construct's page, by its name."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def takes(name: str, line: str) -> str:
    """Return what a construct takes: as the table has it, else as its line begins, where that has names alone."""
    if name in TAKES:
        return TAKES[name]
    found = re.search(rf"\b{re.escape(name)}\(([\w, ]*)\)", line)
    names = [part.strip() for part in found[1].split(",")] if found else ["*"]
    return ", ".join(names) if all(part.isidentifier() for part in names) else "*arguments"


def construct_help(name: str, line: str) -> str:
    """Return a construct's help: its line, then what its page says."""
    parts = [f"{title}:\n\n{text}" for title, text in pages().get(name, {}).items()]
    return "\n\n".join([line, *parts, f"`prism help {name}` prints the whole page."])
