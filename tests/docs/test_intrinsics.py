"""docs/intrinsics.md has the table of all intrinsics as their declarations make it."""

from pathlib import Path

import pytest

from prism.lang.intrinsics import FAMILIES, TABLE
from tests.docs.intrinsics_table import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "intrinsics.md"
BEGIN, END = "<!-- table: begin; --update-golden writes it -->\n", "<!-- table: end -->\n"


def test_the_table_is_that_of_the_declarations(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    new = f"\n{markdown()}\n"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(before + BEGIN + new + END + after, encoding="utf-8")
        old = new
    assert old == new, "docs/intrinsics.md is not what the declarations say: run pytest tests/docs --update-golden"


def test_every_intrinsic_has_one_line_that_begins_with_its_use() -> None:
    assert sum(map(len, FAMILIES.values())) == len(TABLE)
    for intrinsic in TABLE.values():
        assert (
            intrinsic.doc.startswith(f"{intrinsic.name}(") and "\n" not in intrinsic.doc and intrinsic.doc.endswith(".")
        )
