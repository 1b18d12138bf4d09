"""Products of 8-bit floats whose scales are of blocks, on the reference machine: layouts, tiles, edges, schedules."""

import functools
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from prism.interpret import SCHEDULES, run, schedules
from prism.kernels.hgemm import Blocks, Configuration, choose_blocks, identity
from prism.kernels.hgemm.cut import DEPTH
from prism.kernels.hgemm.kinds import (
    BLOCK_NARROW,
    BLOCK_NARROW_PARTED,
    BLOCK_PARTED,
    BLOCK_TILES,
    fits_blocks,
    takes_integers,
)  # fmt: skip
from prism.lang.tree.plan import Program, Wait
from prism.lib.algorithms.hgemm.plan import program_for
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.mutation import caught
from tests.rarely import rarely

SMALL = Configuration(128, 64, 3, ahead=0)
ONE = Configuration(64, 32, 3, 1, ahead=0)
KIND = "float8_e4m3fn"
TILES = (*BLOCK_TILES, *BLOCK_PARTED, *BLOCK_NARROW, *BLOCK_NARROW_PARTED)


@functools.cache
def program(cut: Configuration, blocks: Blocks, trans: bool = False) -> Program:
    facts = KIND, "float32", (False, False), False, False, 0, identity, cut, 0, "", trans, (0, 0)
    return program_for(*facts, blocks.fit(cut.bm, cut.bn))


def repeated(scales, each: int, many: int, k: int):
    """The factor of each element of an operand."""
    return np.repeat(np.repeat(scales, each, 0)[:many], DEPTH, 1)[:, :k]


def exact(m, n, k, cut=SMALL, blocks=Blocks(1, DEPTH), *, count=2, code=None, **options) -> bool:  # noqa: B008 -- it is frozen
    """Whether the product of small integers, by powers of two, is exact; rows and columns are those of the kernel."""
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-3, 4, shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((m, k), (n, k)))
    wanted, scales = [], []
    for x, each, outside in ((a, blocks.a, blocks.outside_a), (b, blocks.b, blocks.outside_b)):
        scale = 2.0 ** rng.integers(-2, 3, (-(-len(x) // each), -(-k // DEPTH)))
        wanted.append(x.astype(np.float64) * repeated(scale, each, len(x), k))
        scales.append(np.ascontiguousarray(scale.T if outside else scale, np.float32).reshape(-1))
    right = wanted[0] @ wanted[1].T
    right = right.T if cut.trans else right
    out = np.full((right.shape[0], right.shape[1] + 8), np.nan, np.float32)
    result, stride, bias = out[:, :-8], out.shape[1], np.zeros(1, np.float32)
    before = [] if cut.parts > 1 else [np.zeros_like(right, np.float32), result]
    how = [1.0] if cut.parts > 1 else [2, 0, 1.0, 0.0]
    arguments = [a, b, *before, out.reshape(-1), stride, bias, m, n, k, *how, *scales]
    down, across = cut.tiles(m, n)
    grid = down * across * cut.parts if cut.parts > 1 else count * cut.cluster
    run(code or program(cut, blocks, cut.trans), grid, cut.threads, arguments, **{"check": True, **options})
    assert np.isnan(out[:, -8:]).all(), "written beside the result"
    return np.array_equal(result, right)


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES)))
def test_schedules(schedule: str, seed: int) -> None:
    assert exact(136, 72, 520, schedule=schedule, seed=seed)


@pytest.mark.parametrize("outside", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("each", [(1, DEPTH), (DEPTH, 1), (1, 1), (DEPTH, DEPTH)])
def test_layouts_of_scales(each: tuple[int, int], outside: tuple[bool, bool]) -> None:
    assert exact(200, 136, 392, blocks=Blocks(*each, *outside))


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 130, 128), (64, 8, 129), (129, 65, 255), (260, 200, 272)])
def test_edges(m: int, n: int, k: int) -> None:
    assert exact(m, n, k)
    assert exact(m, n, k, ONE, Blocks(DEPTH, 1))


MORE = replace(SMALL, cluster_m=2), replace(SMALL, cluster_n=2), Configuration(192, 64, 3, 3, ahead=0)


@pytest.mark.parametrize(
    "cut", rarely([*MORE, *TILES], but=[*MORE, TILES[0], BLOCK_NARROW_PARTED[0]]), ids=lambda cut: cut.name
)
def test_cuts(cut: Configuration) -> None:
    """Of a kernel that makes the transpose blocks are of its rows; 192 rows begin inside a block."""
    blocks = Blocks(DEPTH, 1) if cut.trans else Blocks(1, DEPTH)
    assert exact(392, 40, 640, cut, blocks, schedule="random")
    if cut.parts == 1:
        assert exact(136, 264, 136, cut, blocks, count=1)


def test_each_wait_is_needed() -> None:
    """Of the scales' ring too: without any of them something else is multiplied."""
    code = program(ONE, Blocks(1, DEPTH))
    plan = code.plans[code.entry]
    waits = [op for op in plan.operations if isinstance(op, Wait)]
    names = {op.barrier.name for op in waits}
    assert {"a_b_filled", "factors_filled"} <= names

    def right(mutant: Program, **how: object) -> bool:
        return exact(136, 40, 904, ONE, code=mutant, count=1, **how)

    for op in waits:
        if "factors" in op.barrier.name or op.barrier.name.startswith("a_b"):
            assert caught(code.with_plan(plan.drop_step(op)), right), op.barrier.name


def test_sums_of_a_step_are_apart() -> None:
    """What a step adds is added to the sums in float32: a large step does not take the low digits of those after it."""
    k = 256
    a, b = np.zeros((2, k), np.float32), np.ones((8, k), np.float32)
    a[:, 0], a[:, 128] = 448.0, 2.0**-6
    out, scales = np.zeros((2, 16), np.float32), [np.float32([[64, 1], [64, 1]]).reshape(-1), np.ones(2, np.float32)]
    eights = [x.astype(ml_dtypes.float8_e4m3fn) for x in (a, b)]
    given = [*eights, np.zeros((2, 8), np.float32), out[:, :8], out.reshape(-1), 16, np.zeros(1, np.float32), 2, 8, k]
    run(program(ONE, Blocks(1, DEPTH)), 1, ONE.threads, [*given, 1, 0, 1.0, 0.0, *scales], check=True)
    assert (out[:, :8] == 448 * 64 + 2.0**-6).all()


@pytest.mark.parametrize("m", [1, 16, 64, 128, 200, 4096])
@pytest.mark.parametrize("each", [(1, DEPTH), (1, 1)])
def test_what_is_chosen_can_be_made(m: int, each: tuple[int, int]) -> None:
    for n, k in ((7168, 2048), (2112, 7168), (4096, 16384), (128, 128)):
        found = choose_blocks(m, n, -(-k // 2), 132, each, parted=True)
        assert fits_blocks(found, each) and (found.parts == 1 or found.parts * DEPTH <= k)
    assert choose_blocks(m, 4096, 2048, 132, each, 3) in BLOCK_TILES, "of a batch"


def test_columns_are_whole_blocks_or_in_one() -> None:
    assert not fits_blocks(Configuration(128, 96, 3, ahead=0), (1, DEPTH))
    assert fits_blocks(Configuration(128, 96, 3, ahead=0), (1, 1))
    assert not fits_blocks(Configuration(256, 128, 3, ahead=0), (1, 1)), "too many registers"
    assert takes_integers(Configuration(64, 24, 3, 1)) and not takes_integers(Configuration(64, 40, 3, 1))


@pytest.mark.parametrize("cut", rarely(TILES, but=TILES[:2]), ids=lambda cut: cut.name)
def test_compiled_code(cut: Configuration) -> None:
    """Its sums and those of a step stay in registers."""
    blocks = Blocks(DEPTH, 1, False, True) if cut.trans else Blocks(1, DEPTH, True, False)
    facts = KIND, "bfloat16", (False, False), False, False, 0, identity, cut, 0, "", cut.trans, (0, 0)
    entry = entry_of(program_for(*facts, blocks.fit(cut.bm, cut.bn)), "sm_90a")
    binary = compile_cubin(entry.source, entry.arch)
    assert binary.spills == 0
    assert entry.shared_bytes <= 227 * 1024
