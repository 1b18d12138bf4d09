"""The generated sections of docs/bundl.md: `python -m prism.bundl.report docs/bundl.md` writes them, a test compares them.

A section is what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prism.bundl.fault import Fault
from prism.bundl.faults import FAULTS, FINE
from prism.bundl.faults_proofs import PROOF_FAULTS
from prism.bundl.faults_steps import STEP_FAULTS
from prism.bundl.faults_typing import TYPING_FAULTS
from prism.bundl.text import parse, show

FIGURES = "tests/bundl/figures.json"
HEAD = "| rule | what is wrong | program | printed; corrected | correction |\n|---|---|---|---|---|"


def one_line(text: str) -> str:
    """Return a program on one line, as it is printed."""
    return re.sub(r"\s+", " ", show(parse(text))).strip()


def cell(text: str) -> str:
    """Return text that does not end a table's cell."""
    return text.replace("|", "\\|")


def _row(fault: Fault) -> str:
    shape = f"{fault.shape.blocks} x {fault.shape.threads}"
    least = " Smallest." if fault.smallest else ""
    ends = (
        "shown on single states or terms, see `test_faults.py`; runs"
        if fault.printed == "see test"
        else f"{fault.printed}; {fault.corrected}"
    )
    if not fault.typed:
        ends += " (run in spite of its type)"
    parts = [
        f"**{fault.rule}** ({fault.where}){' *new*' if fault.new else ''}",
        fault.wrong,
        f"`{one_line(fault.text)}` on {shape}.{least}",
        ends,
        f"`{fault.correction}`" if "=>" in fault.correction else fault.correction,
    ]
    return "| " + " | ".join(cell(part) for part in parts) + " |"


def table(faults: list[Fault]) -> str:
    """Return the table of these faults."""
    return "\n".join([HEAD, *map(_row, faults)])


def counts() -> str:
    """Return how many rows there are of each sort."""
    new = [fault for fault in FAULTS.values() if fault.new]
    small = [fault for fault in FAULTS.values() if fault.smallest]
    strict = [fault for fault in FAULTS.values() if fault.printed == "ill-typed"]
    read = len(FAULTS) - len(new)
    return (
        f"{len(FAULTS)} rows at fault, of which {read} were suspected when the paper was read and {len(new)} found by running "
        f"the rules; {len(strict)} only refuse too much. {len(FINE)} suspicions were unfounded. For {len(small)} rows the "
        "program shown is the smallest of its grammar, by exhaustive search."
    )


def new_ones() -> str:
    """Return the list of the faults that were found by running."""
    return "\n".join(f"- **{fault.rule}**: {fault.wrong}" for fault in FAULTS.values() if fault.new)


def fine() -> str:
    """Return the table of what was fine."""
    rows = [f"| **{row.rule}** ({row.where}) | {row.doubt} | {row.argument} |" for row in FINE.values()]
    return "\n".join(["| rule | doubt | why it is fine |", "|---|---|---|", *rows])


def figures() -> str:
    """Return what tests/bundl/figures.json says, if it is there."""
    path = Path(__file__).parents[2] / FIGURES
    if not path.exists():
        return f"*No figures yet: `{FIGURES}` is written by the fuzz run.*"
    found = json.loads(path.read_text())
    runs = {name: run for name, run in found.items() if isinstance(run, dict)}
    rows = ["| run | programs | states | seconds | races | failures |", "|---|---|---|---|---|---|"]
    mutants: Counter[str] = Counter()
    for name, run in runs.items():
        counted = [f"{total(run.get(key, 0)):,.0f}" for key in ("programs", "states", "seconds", "races")]
        rows.append("| " + " | ".join([cell(name), *counted, str(len(run["failures"]))]) + " |")
        mutants.update(run.get("mutants", {}))
    fates = ", ".join(f"{number:,} {fate}" for fate, number in mutants.most_common())
    story = f"Ill-typed neighbours of these programs, and what became of them: {fates}."
    return "\n".join([*rows, "", story, "", found.get("note", "")])


def total(counted: Any) -> float:
    """Return a count that shards may have given one by one."""
    return float(sum(counted) if isinstance(counted, list) else counted)


SECTIONS: dict[str, Callable[[], str]] = {
    "counts": counts,
    "typing": lambda: table(TYPING_FAULTS),
    "steps": lambda: table(STEP_FAULTS),
    "proofs": lambda: table(PROOF_FAULTS),
    "new": new_ones,
    "fine": fine,
    "figures": figures,
}


def render(text: str) -> str:
    """Return the page with its generated sections written anew."""
    for name, section in SECTIONS.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        head, found, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"no section {name}")
        text = f"{head}{begin}\n{section()}\n{end}{tail}"
    return text


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(render(page.read_text()))
