"""The pages that users read have short sentences: an idea each. docs/api.md and docs/collectives.md are made of docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OTHERS = {"api", "collectives", "modules", "bundl"}
"""Made of docstrings, or for the authors of a calculus."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.stem not in OTHERS and page.parent.name != "measurements"]
MOST = 40
"""Words between two stops: a point, a colon, a semicolon, a question mark."""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page: of its paragraphs and lists, not of programs, tables and headings."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(\||#|    ).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(-|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    text = text.replace("**", "")
    text = re.sub(r"`[^`]*`", "X", re.sub(r"\]\([^)]*\)", "]", text))
    for paragraph in re.split(r"\n\s*\n", text):
        yield from filter(None, re.split(r"(?<=[.:;?!])\s+|(?<=[.?!]\))\s+", " ".join(paragraph.split())))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_long(page: Path) -> None:
    assert [one for one in sentences(page.read_text(encoding="utf-8")) if len(one.split()) > MOST] == []


def test_a_long_sentence_is_seen() -> None:
    text = "# A\n\n```python\na b c d\n```\n\nA b\nc. D e: f\n\n- g `h i` j\n\n| k | l |\n"
    assert list(sentences(text)) == ["A b c.", "D e:", "f", "g X j"]
