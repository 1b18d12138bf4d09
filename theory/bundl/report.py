"""The generated sections of docs/bundl.md: `python -m theory.bundl.report docs/bundl.md` writes them, a test compares them.

A section is what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from theory.bundl.fault import Fault
from theory.bundl.faults import FAULTS, FINE
from theory.bundl.faults_proofs import PROOF_FAULTS
from theory.bundl.faults_steps import STEP_FAULTS
from theory.bundl.faults_typing import TYPING_FAULTS
from theory.bundl.text import parse, show

FIGURES = "tests/theory/bundl/figures.json"
GOAL = 1_000_000  # programs, in the run called `random`
Run = dict[str, Any]  # what tests/theory/bundl/fuzz.py counted
Runs = dict[str, Run]
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
        f"{len(FAULTS)} rows at fault, of which {read} were suspected in reading *Typed Perspectives* and {len(new)} found by "
        f"running the rules; {len(strict)} only refuse too much. {len(FINE)} suspicions were unfounded. For {len(small)} rows the "
        "program shown is the smallest of its grammar, by exhaustive search."
    )


def new_ones() -> str:
    """Return the list of the faults that were found by running."""
    return "\n".join(f"- **{fault.rule}**: {fault.wrong}" for fault in FAULTS.values() if fault.new)


def fine() -> str:
    """Return the table of what was fine."""
    rows = [f"| **{row.rule}** ({row.where}) | {cell(row.doubt)} | {cell(row.argument)} |" for row in FINE.values()]
    return "\n".join(["| rule | doubt | why it is fine |", "|---|---|---|", *rows])


def figures() -> str:
    """Return what tests/theory/bundl/figures.json says, if it is there."""
    path = Path(__file__).parents[2] / FIGURES
    if not path.exists():
        return f"*No figures yet: `{FIGURES}` is written by the fuzz run.*"
    return summary(json.loads(path.read_text()))


def summary(runs: Runs) -> str:
    """Return the figures of these runs, as a table and in words."""
    rows = ["| run | programs | states | seconds | races | failures |", "|---|---|---|---|---|---|"]
    for name, run in runs.items():
        counted = [f"{total(run.get(key, 0)):,.0f}" for key in ("programs", "states", "seconds", "races")]
        rows.append("| " + " | ".join([cell(name), *counted, str(len(run["failures"]))]) + " |")
    words = [story(name, runs[name]) for name, story in STORIES.items() if name in runs]
    return "\n".join([*rows, *[line for text in words for line in ("", text)]])


def random_story(name: str, run: Run) -> str:
    """Say which programs were generated, and how far from the goal they are."""
    short = "" if run["programs"] >= GOAL else f" That is short of the goal, {GOAL:,}."
    ways = ", ".join(f"{n:,} on {way}" for way, n in sorted(run["ways"].items(), key=lambda item: -item[1]))
    fates = most(run["mutants"])
    return (
        f"`{name}`: {run['programs']:,} programs, of seeds {seeds(run['seeds'])}; {ways}; "
        f"{len(run['typing rules'])} typing rules and {len(run['steps'])} rules of the semantics took part.{short} "
        f"How the runs ended, where a program may have several: {most(run['ends'])}. Ill-typed neighbours of these programs, and "
        f"what became of them: {fates}."
    )


def seeds(parts: list[dict[str, int]]) -> str:
    """Say which seeds were taken: each process has `from` and every `by`-th after it."""
    ranges = [(part["from"], part["below or at"] - part["by"]) for part in parts]
    if all(part["by"] == len(parts) for part in parts):
        ranges = [(min(first for first, _ in ranges), max(last for _, last in ranges))]
    return " and ".join(f"{first:,} to {last:,}" for first, last in ranges)


def every_story(name: str, run: Run) -> str:
    """Say up to which size all programs were run, at which places."""
    sizes: dict[int, dict[str, int]] = {}
    for room, programs in run["complete"].items():
        place, size = room.split(" size ")
        sizes.setdefault(int(size), {})[place] = programs
    places = sorted({place for found in sizes.values() for place in found})
    done = {size: sum(found.values()) for size, found in sizes.items() if len(found) == len(places)}
    whole = sum(done.values())
    ended = sum(run["ends"].values())
    least = "" if run["ends"].keys() == {"done"} else "at least "  # a program may end in several ways
    on = f", and {least}{run['programs'] - ended:,} have loops that go on" if ended < run["programs"] else ""
    more = "" if whole == run["programs"] else f", and {run['programs'] - whole:,} of the next size"
    return (
        f"`{name}`: all programs of up to {max(done)} rules, {whole:,} of them{more}, in code of {', '.join(places)} (blocks x "
        f"threads), each on every schedule: {most(run['ends'])}{on}."
    )


def kernels_story(name: str, run: Run) -> str:
    """Say how often Prism's checker and the calculus were compared, and on what they agreed."""
    said = run["ends"]
    agreed = said.get("both accept", 0) + said.get("both refuse", 0)
    return (
        f"`{name}`: of {run['programs']:,} kernels of Prism's core, {said.get('both accept', 0):,} are accepted by both checkers "
        f"and {said.get('both refuse', 0):,} by neither; {run['programs'] - agreed:,} by one alone, as is meant. "
        f"{run['ways'].get('ran', 0):,} were run too, and left in memory what the calculus says."
    )


def most(counted: dict[str, int]) -> str:
    """Say how often each came, the most frequent first."""
    return ", ".join(f"{n:,} {what}" for what, n in sorted(counted.items(), key=lambda item: -item[1]))


STORIES: dict[str, Callable[[str, Run], str]] = {
    "every": every_story,
    "random": random_story,
    "kernels": kernels_story,
}


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
