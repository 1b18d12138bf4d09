"""docs/bundl.md says what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism.bundl.faults import FAULTS, FINE
from prism.bundl.report import SECTIONS, cell, one_line, render
from prism.bundl.text import parse

PAGE = Path(__file__).parents[2] / "docs" / "bundl.md"


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text()
    assert render(text) == text, "run: python -m prism.bundl.report docs/bundl.md"


def test_every_row_is_on_the_page() -> None:
    text = PAGE.read_text()
    for fault in FAULTS.values():
        assert cell(one_line(fault.text)) in text
    for row in FINE.values():
        assert row.argument in text


def test_programs_read_back() -> None:
    for fault in FAULTS.values():
        assert parse(one_line(fault.text)) == parse(fault.text)


def test_a_missing_section_is_noticed() -> None:
    text = PAGE.read_text()
    for name in SECTIONS:
        with pytest.raises(ValueError, match=name):
            render(text.replace(f"<!-- begin {name} -->", ""))
