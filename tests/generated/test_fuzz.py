"""The long runs, made short: what they count, how a run goes on where the last one ended, what they say of a failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.generated import fuzz as module
from tests.generated.fuzz import Report, batch, fuzz, fuzz_mutants, load, write
from tests.generated.programs import program


def test_figures_of_some_programs() -> None:
    saved: list[dict[str, object]] = []
    figures = fuzz(5, 12, float("inf"), 2, saved.append)
    assert saved == [figures]
    assert (figures["seeds"], figures["programs"], figures["failures"]) == ([5, 17], 12, [])
    assert figures["lines"] == sum(program(seed).text.count("\n") for seed in range(5, 17))
    assert figures["programs a rule"]["R20"] == 12


def test_no_time_is_no_programs() -> None:
    assert fuzz(0, 1000, 0.0, 1)["programs"] == 0


def test_a_failure_is_kept_with_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("of a test")

    monkeypatch.setattr(module, "verified", fail)
    report = Report(range(3, 5))
    batch(range(3, 5), report)
    assert [failure["seed"] for failure in report.failures] == [3, 4]
    assert report.failures[0]["found"] == "ValueError: of a test" and "def kernel(" in report.failures[0]["program"]


def test_what_nvrtc_refuses_is_kept_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "accepted", lambda texts: {1: "error: of a test"})
    report = Report(range(3, 6))
    batch(range(3, 6), report)
    assert [(f["seed"], f["found"]) for f in report.failures] == [(4, "NVRTC refuses it\nerror: of a test")]


def test_runs_add_up(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    run = {"programs": 3, "lines": 10, "seconds": 1.5, "processor seconds": 2.0, "failures": []}
    write(out, load(out), run)
    write(out, load(out), {**run, "failures": [{"seed": 1}]})
    assert json.loads(out.read_text())["all"] == {
        "programs": 6, "lines": 20, "seconds": 3.0, "processor seconds": 4.0, "failures": 1
    }  # fmt: skip
    assert len(load(out)["runs"]) == 2


@pytest.mark.fuzz
def test_figures_of_mutants() -> None:
    figures = fuzz_mutants(0, 2, 2)
    assert figures["mutants"] > 1000 and not figures["failures"]
    assert sum(figures["operators"].values()) == figures["mutants"]
