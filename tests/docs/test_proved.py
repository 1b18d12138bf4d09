"""docs/proved.md quotes the figures of the recorded runs, from the files that the runs wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.regions import compare
from theory.bundl.report import figures as calculus

ROOT = Path(__file__).resolve().parents[2]


def test_the_figures_of_generated_programs_are_those_recorded(request: pytest.FixtureRequest) -> None:
    recorded = json.loads((ROOT / "tests/generated/figures.json").read_text(encoding="utf-8"))
    lines = ["| seeds | generator | programs | lines | revision | not as it should be |", "|---|---|---|---|---|---|"]
    for run in recorded["runs"]:
        first, last = run["seeds"]
        lines.append(f"| {first:,} to {last - 1:,} | {run['generator']} | {run['programs']:,} | {run['lines']:,} | "
                     f"{run['revision']} | {len(run['failures']):,} |")  # fmt: skip
    total = recorded["all"]
    assert total["programs"] == sum(run["programs"] for run in recorded["runs"])
    lines.append(f"| **all** | | **{total['programs']:,}** | **{total['lines']:,}** | | **{total['failures']:,}** |")
    notes = [f"- Seeds from {run['seeds'][0]:,}: {run['note']}." for run in recorded["runs"] if run.get("note")]
    faults = recorded["mutants"]
    written, made = (sum(faults[of].values()) for of in ("of kernels that people wrote", "of generated programs"))
    programs = faults["seeds"][1] - faults["seeds"][0]
    notes.append(
        f"- Mutants, one fault each ({faults['revision']}): {written:,} of kernels that people wrote, {made:,} of {programs} "
        f"generated programs; {len(faults['failures'])} not refused as expected. {faults['note']}"
    )
    compare(request, "proved.md", "figures", "\n".join([*lines, "", *notes]))


def test_the_figures_of_the_calculus_are_those_recorded(request: pytest.FixtureRequest) -> None:
    compare(request, "proved.md", "calculus", calculus())
