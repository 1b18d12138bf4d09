"""docs/barriers.md has the number of barriers that the compiler infers, beside the least that the programs need."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from examples.paper import hgemm as paper
from examples.paper import scan, sgemm
from prism.explanation import account
from prism.explanation.model import Count
from prism.interpret import RaceError, run
from prism.kernels.hgemm import Configuration as Tile
from prism.kernels.hgemm import identity, persistent
from prism.kernels.scan import single_pass
from prism.kernels.scan.configurations import Configuration
from prism.lang import Kernel
from prism.lang.pipeline import build
from prism.lang.tree.plan import Program
from prism.lib.algorithms.hgemm.plan import instance_for
from prism.lib.thread import operators
from tests.examples import programs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "barriers.md"
BEGIN, END = "<!-- table: begin; --update-golden writes it -->\n", "<!-- table: end -->\n"


@dataclass(frozen=True)
class Row:
    """A place in a program: outside of loops (`loop` None), or in the trips of a loop that begins so; `least` as text.

    `role`: whose threads are counted, where they have roles.
    """

    title: str
    kernel: Kernel
    examples: dict[str, dict[str, object]]
    loop: str | None
    least: str
    role: str = ""


HGEMM = instance_for("bfloat16", "bfloat16", (False, False), False, False, 0, identity, Tile(128, 256, 4))
HGEMMS = {"hgemm": dict(HGEMM.template)}
MULTIPLYING = "1 arrival, 1 group commit, 1 group wait, 1 mbarrier wait, 1 wgmma fence"
FILLING = "1 announcing arrival, 1 mbarrier wait"
OUR, THEIR = "`prism.kernels.hgemm`", "the `hgemm` of *Typed Perspectives*"

ROWS = [
    Row("sgemm 3, `tiled`", sgemm.tiled, sgemm.EXAMPLES, "for first in", "2 block barriers"),
    Row("sgemm 4, `vectorized`", sgemm.vectorized, sgemm.EXAMPLES, "for first in", "2 block barriers"),
    Row("sgemm 5, `warps`", sgemm.warps, sgemm.EXAMPLES, "for first in", "2 block barriers"),
    Row("the scan of *Typed Perspectives*", scan.scan, scan.EXAMPLES, "while stride", "1 block barrier"),
    Row("the scan of *Typed Perspectives*", scan.scan, scan.EXAMPLES, None, "3 block barriers, 1 warp barrier"),
    Row("`prism.kernels.scan`", single_pass.scan, single_pass.EXAMPLES, "while tile", "2 block barriers"),
    Row("`prism.kernels.scan`", single_pass.scan, single_pass.EXAMPLES, None, "1 block barrier"),
    Row(THEIR, paper.hgemm, paper.EXAMPLES, "for first in", FILLING, "producer"),
    Row(THEIR, paper.hgemm, paper.EXAMPLES, "for first in", MULTIPLYING, "consumers"),
    Row(OUR, persistent.hgemm, HGEMMS, "for step in", FILLING, "loader"),
    Row(OUR, persistent.hgemm, HGEMMS, "for step in", MULTIPLYING, "consumers"),
    Row(OUR, persistent.hgemm, HGEMMS, "for tile in", "1 arrival, 1 group wait", "consumers"),
    Row(OUR, persistent.hgemm, HGEMMS, "for s in", "1 arrival, 1 mbarrier wait, 1 proxy fence", "consumers"),
    Row(
        OUR, persistent.hgemm, HGEMMS, "for s in", "1 arrival, 1 group commit, 1 group wait, 1 mbarrier wait", "storer"
    ),
]


def count(row: Row) -> Count:
    counts = account(build(row.kernel, row.examples[row.kernel.__name__])).chapters[0].counts
    mine = [c for c in counts if c.role == row.role]
    (found,) = [c for c in mine if (c.loop is None if row.loop is None else c.text.startswith(row.loop))]
    return found


def table() -> str:
    lines = ["| Program | Where | Inferred | The least | |", "|---|---|---|---|---|"]
    for row in ROWS:
        found = count(row)
        where = "once" if row.loop is None else f"a trip of `{found.text}`"
        where += f", {row.role}" if row.role else ""
        inferred = ", ".join(map(str, found.total)) or "none"
        lines.append(
            f"| {row.title} | {where} | {inferred} | {row.least} | {'equal' if inferred == row.least else 'below'} |"
        )
    return "\n".join(lines) + "\n"


def test_the_table_is_what_the_compiler_infers(request: pytest.FixtureRequest) -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    old, after = rest.split(END)
    new = f"\n{table()}\n"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(before + BEGIN + new + END + after, encoding="utf-8")
        old = new
    assert old == new, "docs/barriers.md is not what the compiler infers: run pytest tests/docs --update-golden"


def test_each_difference_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    different = {row.title for row in ROWS if (", ".join(map(str, count(row).total)) or "none") != row.least}
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert {f"Where it is more: {title}" for title in different} <= set(headings)


# -- none of those inferred can be left out ---------------------------------------------------------------------------------


def scanned() -> tuple[Program, tuple[int, int], tuple[object, ...]]:
    configuration = Configuration(threads=64, items=4, width=2, blocks=1)
    template = {
        "TI": "int32",
        "T": "int32",
        "TO": "int32",
        "OP": operators.add,
        "STABLE": False,
        **configuration.template(),
    }
    template |= {"EXCLUSIVE": False, "REVERSE": False}
    x = np.arange(2000, dtype=np.int32)
    scratch = (np.zeros(64, np.uint64), 64, np.zeros(1, np.uint64))
    return build(single_pass.scan, template), (2, 64), (x, np.zeros_like(x), x.size, 0, -1, False, 0, 0, *scratch)


def launched(launch: programs.Launch) -> tuple[Program, tuple[int, int], tuple[object, ...]]:
    return build(launch.kernel, launch.template), launch.shape, launch.arguments


SMALL = {
    "tiled": lambda: launched(programs.tiles(sgemm.tiled, 20, 36, 20, programs.SMALL | {"THREADS": 32})),
    "vectorized": lambda: launched(programs.tiles(sgemm.vectorized, 20, 36, 20, programs.SMALL)),
    "warps": lambda: launched(programs.tiles(sgemm.warps, 40, 36, 36, programs.SMALL_WARPS)),
    "paper's scan": lambda: launched(programs.scanned(3000, 2)),
    "scan": scanned,
}
SCHEDULES = (("round-robin", 0), ("reversed", 0), ("random", 1), ("random", 2))


def races(program: Program, shape: tuple[int, int], arguments: tuple[object, ...]) -> RaceError | None:
    """Return the race that some schedule finds, on copies of the arrays, aligned as an allocator would."""
    for schedule, seed in SCHEDULES:
        given = [programs.aligned(a) if isinstance(a, np.ndarray) else a for a in arguments]
        try:
            run(program, *shape, given, check=True, schedule=schedule, seed=seed)
        except RaceError as race:
            return race
    return None


@pytest.mark.parametrize("name", SMALL)
def test_without_any_one_of_them_there_is_a_race(name: str) -> None:
    program, shape, arguments = SMALL[name]()
    assert races(program, shape, arguments) is None
    for plan in program.plans.values():
        for barrier in plan.barriers:
            mutant = program.with_plan(plan.drop_step(barrier))
            assert races(mutant, shape, arguments) is not None, f"{plan.function.name}:{barrier.before.span.line}"


def test_what_the_third_barrier_of_the_scan_is_for() -> None:
    """It stands in `grid.tile_loop`, which the kernel has in it: all read the number of the tile that one thread has drawn."""
    program, shape, arguments = scanned()
    (plan,) = (plan for plan in program.plans.values() if plan.function.name == "scan" and len(plan.barriers) == 2)
    race = races(program.with_plan(plan.drop_step(plan.barriers[1])), shape, arguments)
    assert race is not None and "grid/scan_tiles.py" in race.access.file
