"""Parts of a page that a test writes: between `<!-- NAME: begin; ... -->` and `<!-- NAME: end -->`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def compare(request: pytest.FixtureRequest, page: str, name: str, text: str) -> None:
    """Fail where the page does not have this text in its part of that name; with --update-golden, write it there."""
    path = DOCS / page
    whole = path.read_text(encoding="utf-8")
    found = re.search(
        rf"(<!-- {name}: begin; --update-golden writes \w+ -->\n)(.*?)(<!-- {name}: end -->)", whole, re.DOTALL
    )
    assert found, f"docs/{page} has no part named {name}"
    wanted = f"\n{text.strip()}\n\n"
    if request.config.getoption("--update-golden") and found[2] != wanted:
        path.write_text(whole[: found.start(2)] + wanted + whole[found.end(2) :], encoding="utf-8")
        return
    assert found[2] == wanted, f"docs/{page} is not up to date: run pytest tests/docs --update-golden"
