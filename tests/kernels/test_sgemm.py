"""The float32 products on the reference machine, with all its checks: every variant at every edge, layout and factor."""

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import prism
from prism.interpret import run, schedules
from prism.kernels.sgemm import LESSON, TILES, VARIANTS, Configuration, Layout, choose
from prism.kernels.sgemm.configurations import clocks, warp_tiles
from prism.lib.algorithms.sgemm.api import program_for
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from prism.runtime.entry import Entry
from tests.rarely import rarely

SMALL = {
    "naive": Configuration("naive", 64, 1, 1),
    "coalesced": Configuration("coalesced", 64, 8, 8),
    "tiled": Configuration("tiled", 64, 16, 16, 8, tm=2, tn=2),
    "vectorized": Configuration("vectorized", 64, 32, 32, 8, tm=4, tn=4),
    "warps": warp_tiles(64, 32, 32, 32, 1, bk=8, unroll=2),
}
WIDE, OTHER = Layout(True, True), Layout(False, True)  # A's and B's, where both are row-major
LAYOUTS = ("NN", "NT", "TN", "TT")  # of a, of b: N has a row's elements one after the other
EPS = 2.0**-23
TWINS = Path(__file__).parents[1] / "gpu" / "sgemm_twins.cu"


def aligned(values):
    """A copy that begins at a multiple of 16 bytes: NumPy's own may not."""
    room = np.full(values.size + 4, np.nan, np.float32)
    start = -room.__array_interface__["data"][0] // 4 % 4
    found = room[start : start + values.size].reshape(values.shape)
    found[...] = values
    return found


def stored(values, layout: str, wide: bool, spare: int):
    """Return matrices' memory, with `spare` elements of NaN behind each row (or column, where transposed), and its strides."""
    lying = values if layout == "N" else values.swapaxes(1, 2)
    batches, outer, inner = lying.shape
    room = -(-inner // 4) * 4 + 4 * spare if wide else inner + spare
    memory = np.full((batches, outer, room), np.nan, np.float32)
    memory[:, :, :inner] = lying
    steps = (room, 1, outer * room) if layout == "N" else (1, room, outer * room)
    return aligned(memory).reshape(-1), steps


def multiplied(
    cut: Configuration, m: int, n: int, k: int, *, layout="NN", wide=True, spare=1, batches=1, alpha=2.0, beta=-1.0,
    program=None, integers=True, **options,
):  # fmt: skip
    """Run a kernel, checked; return what it makes, and the same in float64. Beside the result nothing may be written."""
    random = np.random.default_rng(m + n + k)
    shapes = (batches, m, k), (batches, k, n), (batches, m, n)
    draw = functools.partial(random.integers, -3, 4) if integers else (lambda size: random.standard_normal(size))
    a, b, c = (draw(size=shape).astype(np.float32) for shape in shapes)
    (left, steps_a), (right, steps_b) = stored(a, layout[0], wide, spare), stored(b, layout[1], wide, spare)
    out, (rs_c, _, bs_c) = stored(c if beta else np.full_like(c, np.nan), "N", wide, spare)
    code = program or program_for(
        cut, Layout(layout[0] == "N", wide), Layout(layout[1] == "T", wide), Layout(False, wide)
    )
    counted = (batches,) if cut.counted else ()
    left, right = (x if x.size else np.full(1, np.nan, np.float32) for x in (left, right))
    arguments = (*counted, m, n, k, alpha, left, *steps_a, right, *steps_b, beta, out, rs_c, bs_c)
    run(code, cut.grid(batches, m, n), cut.threads, arguments, **{"check": True} | options)
    rows = out.reshape(batches, m, rs_c)
    assert np.isnan(rows[:, :, n:]).all(), "written beside the result"
    return rows[:, :, :n], (a, b, c, alpha * (a.astype(np.float64) @ b) + beta * c)


def exact(cut: Configuration, *sizes: int, **options) -> bool:
    """Whether a product of small integers, whose sums are exact, is right to the last bit."""
    found, (*_, wanted) = multiplied(cut, *sizes, **options)
    return np.array_equal(found, wanted)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (1, 40, 9), (40, 1, 9), (33, 34, 7), (32, 32, 16), (65, 47, 17), (5, 6, 0)]
)
def test_edges(variant: str, sizes: tuple[int, int, int]) -> None:
    assert exact(SMALL[variant], *sizes)


@pytest.mark.covering(2)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wide", [False, True])
def test_layouts(variant: str, layout: str, wide: bool) -> None:
    assert exact(SMALL[variant], 37, 35, 19, layout=layout, wide=wide, spare=0)
    assert exact(SMALL[variant], 18, 33, 9, layout=layout, wide=wide, spare=3)


@pytest.mark.covering(1)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("alpha, beta", [(1.0, 0.0), (-0.5, 0.0), (1.0, 1.0), (0.0, 3.0), (3.0, -2.0)])
def test_factors(variant: str, alpha: float, beta: float) -> None:
    """Where `beta` is 0 the result begins as NaN: it is not read."""
    for wide in (False, True):
        assert exact(SMALL[variant], 33, 18, 9, alpha=alpha, beta=beta, wide=wide)


@pytest.mark.parametrize("variant", VARIANTS)
def test_batches(variant: str) -> None:
    assert exact(SMALL[variant], 18, 21, 9, batches=5)


@pytest.mark.covering(1)
@pytest.mark.parametrize("variant", ["tiled", "vectorized", "warps"])
@pytest.mark.parametrize(("schedule", "seed"), schedules(9))
def test_schedules(variant: str, schedule: str, seed: int) -> None:
    assert exact(SMALL[variant], 40, 36, 20, schedule=schedule, seed=seed)


@pytest.mark.parametrize(
    "cut",
    [
        *TILES, *list(LESSON.values())[2:], warp_tiles(32, 64, 32, 32, 1, step_m=16, step_n=32, unroll=4),
        replace(SMALL["tiled"], tm=4, tn=1), replace(SMALL["vectorized"], tm=8, tn=4, threads=32),
    ],
    ids=lambda cut: cut.name,
)  # fmt: skip
def test_cuts(cut: Configuration) -> None:
    """Large tiles without the checks, which take long: the small ones are of the same kernels."""
    check = cut.bm < 64
    assert exact(cut, cut.bm + 5, cut.bn + 3, 2 * cut.bk + 1, layout="NT", check=check)
    assert exact(cut, cut.bm - 1, cut.bn, cut.bk, layout="TN", wide=False, check=check)


@pytest.mark.parametrize("variant", VARIANTS)
def test_normal_numbers(variant: str) -> None:
    """KERNELS.md 6: `eps |ref| + 2 sqrt(K) eps (|A| |B|)`, with what `alpha`, `beta` and `C` add to it."""
    found, (a, b, c, wanted) = multiplied(SMALL[variant], 60, 50, 70, integers=False)
    size = 2.0 * (np.abs(a).astype(np.float64) @ np.abs(b)) + np.abs(c)
    assert (np.abs(found - wanted) <= EPS * np.abs(wanted) + 2 * 70**0.5 * EPS * size).all()


def twins(configuration: Configuration, arch: str) -> tuple[Entry, Entry]:
    """Return the kernel of a configuration, and the same in CUDA C++ by hand, for row-major matrices of whole words."""
    entry = entry_of(program_for(configuration, WIDE, OTHER, OTHER), arch)
    facts = {configuration.variant.upper(): "", **configuration.template(WIDE, OTHER, OTHER)}
    defined = "".join(f"#define {name} {str(value).lower()}\n" for name, value in facts.items())
    by_hand = Entry(
        name="twin", source=defined + TWINS.read_text(), arch=arch, parameters=entry.parameters, shared_bytes=entry.shared_bytes,
        thread_multiple=entry.thread_multiple, block_multiple=None, max_threads=entry.max_threads,
    )  # fmt: skip
    return entry, by_hand


@pytest.mark.parametrize("variant", VARIANTS)
def test_code_generation_costs_no_registers(variant: str) -> None:
    """Beside the same algorithm by hand: no spill, as many blocks a multiprocessor, and 8 registers more at most.

    The assembler's choice moves by some registers with the spelling of an address; hardware hands them out in eights.
    """
    cut = LESSON[variant]
    ours, theirs = (compile_cubin(entry.source, entry.arch) for entry in twins(cut, "sm_90a"))
    assert (ours.spills, theirs.spills) == (0, 0)
    assert ours.registers <= theirs.registers + 8
    blocks = [65536 // (-(-binary.registers // 8) * 8 * cut.threads) for binary in (ours, theirs)]
    assert blocks[0] == blocks[1], (ours.registers, theirs.registers)


EVERY = list(dict.fromkeys([*TILES, *LESSON.values()]))


@pytest.mark.parametrize("cut", rarely(EVERY, but=[*TILES[::3], *LESSON.values()]), ids=lambda cut: cut.name)
def test_every_configuration_is_clean_machine_code(cut: Configuration) -> None:
    """`make release-check` looks at all that ship."""
    binary = compile_cubin(entry_of(program_for(cut, WIDE, OTHER, OTHER), "sm_90a").source, "sm_90a")
    assert (binary.spills, binary.warnings) == (0, ())
    assert binary.registers * cut.threads * max(1, cut.blocks) <= 65536


def test_the_choice() -> None:
    """Every shape gets one; large results large tiles, small ones tiles that are enough for all multiprocessors."""
    for size in (1, 64, 500, 1024, 4096, 16384):
        assert choose(1, size, size, size, 132) in TILES
    assert choose(1, 4096, 4096, 4096, 132) == TILES[0]
    assert choose(1, 256, 256, 256, 132).bm < 128
    assert clocks(TILES[0], 1, 4096, 4096, 4096, 132) < clocks(TILES[-1], 1, 4096, 4096, 4096, 132)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_needed_between_threads(variant: str) -> None:
    """None where a thread works for itself; two barriers a step where a block fills tiles, for both operands."""
    cut = SMALL[variant]
    program = program_for(cut, WIDE, OTHER, OTHER)
    barriers = [barrier for plan in program.plans.values() for barrier in plan.barriers]
    assert [barrier.kind for barrier in barriers] == ([] if cut.counted else ["block", "block"])


def test_a_missing_barrier_is_reported() -> None:
    """Without the one before the tiles are read, on the plainest schedule."""
    program = program_for(SMALL["tiled"], WIDE, OTHER, OTHER)
    plan = program.plans[program.entry]
    before_reading = plan.barriers[-1]
    with pytest.raises(prism.interpret.MachineError):
        exact(SMALL["tiled"], 20, 20, 20, program=program.with_plan(plan.drop_step(before_reading)))
