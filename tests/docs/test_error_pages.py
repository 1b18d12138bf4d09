"""`docs/errors/` and the errors belong together: a page a code, a code a page. test_examples.py runs the pages."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from string import Formatter

import pytest

from prism.interpret import errors as machine
from prism.lang.diagnostics import Error
from prism.lang.errors import catalogue
from prism.runtime.launch import LaunchError

DOCS = Path(__file__).resolve().parents[2] / "docs"
INDEX = (DOCS / "errors.md").read_text(encoding="utf-8")
PAGES = {page.stem: page for page in (DOCS / "errors").glob("*.md")}
MACHINE = {e.code for e in vars(machine).values() if isinstance(e, type) and issubclass(e, machine.MachineError)}
CODES = sorted({error.code for error in catalogue()} | (MACHINE - {machine.MachineError.code}) | {LaunchError.code})


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(PAGES) == CODES
    assert sorted(re.findall(r"\]\(errors/([a-z-]+)\.md\)", INDEX)) == CODES


@pytest.mark.parametrize("code", CODES)
def test_a_page_is_of_its_code(code: str) -> None:
    text = PAGES[code].read_text(encoding="utf-8")
    assert text.startswith(f"# {code}\n\n")
    rules = {error.rule for error in catalogue() if error.code == code} - {""}
    assert re.findall(r"^(R\d+)\. ", text, flags=re.MULTILINE) == sorted(rules)


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_a_faulty_program_its_message_and_the_repaired_one(code: str) -> None:
    """Behind what both import."""
    text = PAGES[code].read_text(encoding="utf-8")
    assert re.findall(r"^```(.+)$", text, flags=re.MULTILINE) == [
        "python",
        f"python error: {code}",
        "text printed",
        "python",
    ]
    faulty, repaired = text.split("```text printed", 1)
    assert faulty.count(f"# error: {code}\n") == 1
    assert "check=True" in repaired, "the repaired program runs on the reference machine, with its checks"


@pytest.mark.parametrize("error", catalogue(), ids=lambda error: error.__name__)
def test_every_error_says_what_to_change(error: type[Error]) -> None:
    """A title that stands alone, and a help: templates over what the error holds, in the house's form."""
    names = {field.name for field in fields(error)} | set(dir(error))
    for template in (error.title, error.label, error.help_template, *error.note_templates):
        assert {name for _, name, _, _ in Formatter().parse(template) if name} <= names
        assert not template.endswith(".")
    assert error.title and error.help_template
