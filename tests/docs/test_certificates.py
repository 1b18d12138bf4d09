"""The page on certificates has every word that one may print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prism.lang.certify import checker, text
from prism.lang.skeleton.premises import ORIGINS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("## Every word") : PAGE.index("## What a verdict rests on")]
CODE = re.findall(r"`[^`]*`", TABLE)
FORMS = re.findall(r"^\((\w+)", text.__doc__ or "", re.MULTILINE)
UNITS = ("thread", "block", "cluster", "grid", "named", "warp")


@pytest.mark.parametrize(
    "word", sorted({*FORMS, *text.HEADS, *checker.KINDS, *ORIGINS, *UNITS, checker.SAME, checker.NEVER})
)
def test_the_table_has_every_word(word: str) -> None:
    assert any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", code) for code in CODE)


def test_forms_are_found() -> None:
    assert "beyond" in FORMS and "body" in FORMS
