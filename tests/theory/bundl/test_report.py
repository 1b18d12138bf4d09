"""docs/bundl.md says what the tables say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.theory.bundl.fuzz import add, merge, write
from theory.bundl.faults import FAULTS, FINE
from theory.bundl.report import SECTIONS, cell, one_line, render, summary
from theory.bundl.text import parse

PAGE = Path(__file__).parents[3] / "docs" / "bundl.md"


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text()
    assert render(text) == text, "run: python -m theory.bundl.report docs/bundl.md"


def test_every_row_is_on_the_page() -> None:
    text = PAGE.read_text()
    for fault in FAULTS.values():
        assert cell(one_line(fault.text)) in text
    for row in FINE.values():
        assert cell(row.argument) in text


RUN = {
    "programs": 1_000_000, "states": 5, "seconds": [2.0, 3.0], "races": 1, "failures": [], "typing rules": ["T-Var"],
    "ends": {"done": 7}, "steps": {"S-Decl": 1}, "mutants": {"stuck": 2}, "ways": {"one schedule": 3},
    "seeds": [{"from": 0, "below or at": 1_000_000, "by": 2}, {"from": 1, "below or at": 1_000_001, "by": 2}],
}  # fmt: skip


def test_figures_speak_for_themselves() -> None:
    whole = summary({"random": RUN})
    assert "1,000,000 programs, of seeds 0 to 999,999" in whole and "short" not in whole
    part = summary({"random": {**RUN, "programs": 9}, "random, again": RUN})
    assert "short of the goal, 1,000,000" in part and "| random, again | 1,000,000 | 5 | 5 | 1 | 0 |" in part
    every = {**RUN, "programs": 25, "complete": {"grid 1x2 size 1": 1, "block 1x2 size 1": 2, "grid 1x2 size 2": 20}}
    assert "all programs of up to 1 rules, 3 of them, and 22 of the next size" in summary({"every": every})


def test_merged_figures_take_the_place_of_parts(tmp_path: Path) -> None:
    known, new = tmp_path / "known.json", tmp_path / "new.json"
    for kind in ("random", "random, again", "every"):
        write(known, kind, {"programs": 1})
    write(new, "random", {"programs": 2})
    merge(new, known)
    assert json.loads(known.read_text()) == {"every": {"programs": 1}, "random": {"programs": 2}}


def test_programs_read_back() -> None:
    for fault in FAULTS.values():
        assert parse(one_line(fault.text)) == parse(fault.text)


def test_a_missing_section_is_noticed() -> None:
    text = PAGE.read_text()
    for name in SECTIONS:
        with pytest.raises(ValueError, match=name):
            render(text.replace(f"<!-- begin {name} -->", ""))


def test_runs_one_after_the_other_are_added(tmp_path: Path) -> None:
    def run(programs: int, first: int) -> dict[str, object]:
        seeds = [{"from": first, "below or at": first + programs, "by": 1}]
        counted = {
            "programs": programs,
            "states": 2 * programs,
            "races": 0,
            "ends": {"done": programs},
            "typing rules": [f"T-{first}"],
        }
        return {**counted, "failures": [], "seconds": 3.5, "shards": 1, "seeds": seeds}

    here, there = tmp_path / "here.json", tmp_path / "there.json"
    write(here, "random", run(10, 0))
    write(there, "random", run(5, 10))
    add(there, here)
    total = json.loads(here.read_text())["random"]
    assert (total["programs"], total["states"], total["seconds"], total["shards"]) == (15, 30, 7.0, 2)
    assert total["ends"] == {"done": 15} and total["typing rules"] == ["T-0", "T-10"]
    assert [part["from"] for part in total["seeds"]] == [0, 10]
