"""Symmetric products on the reference machine: every square of a triangle once, on one side of the diagonal or on both.

Tests of prism/lib/algorithms/hgemm: symmetric.
"""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run, schedules
from prism.kernels.hgemm import Configuration, choose_symmetric, identity, symmetric_pays, triangle_tiles
from prism.kernels.hgemm.kinds import ADDED_TILES, SYMMETRIC_TILES, side_of
from prism.lang.tree.plan import Program
from prism.lang.types.shorts import bf16_bits
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.hgemm.symmetric import instance_for
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.lib.algorithms.sgemm.test_ring import gpu
from tests.rarely import rarely

SMALL = Configuration(64, 64, 3, 1, ahead=0)
WIDE = Configuration(64, 128, 3, 1, ahead=0)
HIGH = Configuration(128, 64, 3, ahead=0, slabs=4)


@functools.cache
def program(cut, outside=(False, False), plain=False, beta=False, triangle="both", result="float32") -> Program:
    return instance_for("bfloat16", result, outside, plain, beta, triangle, identity, cut).program


def exact(
    n, k, cut=SMALL, *, high=2, blocks=2, outside=(False, False), triangle="both", beta=0.0, plain=False, **options
) -> bool:
    """Whether a product of small integers is exact where it is stored, and nothing is stored elsewhere."""
    rng = np.random.default_rng(n + k)
    a, c = rng.integers(-2, 3, (n, k)), rng.integers(-2, 3, (n, n))
    c = np.tril(c) + np.tril(c, -1).T
    out = np.full((n, n + 8), np.nan, np.float32)
    found, before = out[:, :n], c.astype(np.float32)
    operands = [bf16_bits(np.ascontiguousarray(a.T if t else a, np.float32)) for t in outside]
    maps = [before, found, before, found]
    arguments = [*operands, *maps, out.reshape(-1), n + 8, n, k, high, 2.0, beta, np.zeros(1, np.float32)]
    code = program(cut, outside, plain, beta != 0, triangle)
    run(code, blocks, cut.threads, arguments, **{"check": True, **options})
    assert np.isnan(out[:, n:]).all(), "written beside the result"
    square = np.arange(n) // side_of(cut)
    here = {"both": np.full((n, n), True), "lower": square[:, None] >= square, "upper": square[:, None] <= square}[
        triangle
    ]
    assert np.isnan(found[~here]).all(), "of the other triangle"
    return np.array_equal(found[here], (2 * (a @ a.T) + beta * c)[here])


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES)))
def test_schedules(schedule: str, seed: int) -> None:
    assert exact(200, 136, schedule=schedule, seed=seed)


@pytest.mark.parametrize("triangle", ["both", "lower", "upper"])
@pytest.mark.parametrize("cut", [SMALL, WIDE, HIGH], ids=lambda cut: cut.name)
def test_triangles(cut: Configuration, triangle: str) -> None:
    assert exact(264, 72, cut, triangle=triangle, beta=3.0)
    assert exact(201, 8, cut, triangle=triangle, plain=True)


@pytest.mark.parametrize("outside", [(False, False), (False, True), (True, False), (True, True)])
def test_layouts(outside: tuple[bool, bool]) -> None:
    assert exact(136, 72, outside=outside)


@pytest.mark.parametrize(
    "n, high, blocks", [(1, 1, 1), (64, 1, 3), (65, 1, 1), (400, 1, 2), (400, 3, 2), (400, 9, 40), (448, 2, 5)]
)
def test_bands(n: int, high: int, blocks: int) -> None:
    """Of any number of squares' rows, the last of fewer; each tile is made once, or elements would race."""
    assert exact(n, 8, high=high, blocks=blocks)


@pytest.mark.parametrize(
    "cut",
    rarely([*SYMMETRIC_TILES, ADDED_TILES[0]], but=[*SYMMETRIC_TILES[-2:], ADDED_TILES[0]]),
    ids=lambda cut: cut.name,
)
def test_tiles(cut: Configuration) -> None:
    assert exact(side_of(cut) + 72, 136, cut)
    for result, beta in (("bfloat16", False), ("float32", False), ("bfloat16", True), ("float32", True)):
        if beta and cut not in ADDED_TILES:
            continue
        entry = entry_of(program(cut, beta=beta, result=result), "sm_90a")
        assert compile_cubin(entry.source, entry.arch).spills == 0 and entry.shared_bytes <= 227 * 1024


@pytest.mark.parametrize("n", [1, 64, 1000, 4096, 16384])
def test_what_is_chosen(n: int) -> None:
    found = choose_symmetric(n, n, 132, (False, False))
    squares = -(-n // side_of(found))
    whole = squares**2 * side_of(found) ** 2 // (found.bm * found.bn)
    assert found in SYMMETRIC_TILES and 2 * triangle_tiles(found, n) == whole + whole // squares


def test_few_tiles_are_made_whole() -> None:
    """Where half of them take as many rounds as all; not where the other triangle is not to be touched."""

    def kernels(n: int, which: str) -> list[str]:
        a = np.zeros((n, 64), np.float16)
        plan = decide_hgemm({"a": describe(a), "b": describe(a.T)}, None, gpu(), symmetric=which).plan
        return [step.instance.kernel.__name__ for step in plan.steps]

    assert kernels(1024, "both") == ["hgemm"] and kernels(1024, "lower") == ["hgemm_symmetric"]
    assert kernels(8192, "both") == ["hgemm_symmetric"]
    assert symmetric_pays(8192, 8192, 132, (False, False)) and not symmetric_pays(2048, 2048, 132, (False, False))


# -- the function ---------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(5)


def whole_numbers(*shape: int):
    return RNG.integers(-2, 3, shape).astype(np.float16)


@pytest.mark.parametrize("n, k", [(70, 40), (300, 72), (1, 1), (5, 0)])
def test_products(n: int, k: int) -> None:
    a = whole_numbers(n, k)
    wanted = a.astype(np.float64) @ a.T.astype(np.float64)
    assert np.array_equal(prism.lib.hgemm(a, a.T, symmetric=True), wanted)
    assert np.array_equal(prism.lib.hgemm(np.asfortranarray(a), a.T.copy(), symmetric="both"), wanted)
    c = np.float32(wanted)
    found = prism.lib.hgemm(
        a, a.T, c, alpha=2.0, beta=-1.0, symmetric=True, epilogue=lambda x: x * 2.0, out_dtype="float32"
    )
    assert np.array_equal(found, 2 * wanted)
    for order in "CF":
        for name, part in (("lower", np.tril), ("upper", np.triu)):
            out = np.full((n, n), 7, np.float16, order=order)
            assert prism.lib.hgemm(a, a.T, symmetric=name, out=out) is out and np.array_equal(part(out), part(wanted))
            assert n < 257 or (out == 7).sum() > n, (
                "the other triangle, but for tiles that meet the diagonal, is as it was"
            )


def test_batches() -> None:
    x = whole_numbers(3, 70, 40)
    wanted = x.astype(np.float64) @ x.astype(np.float64).swapaxes(1, 2)
    assert np.array_equal(prism.lib.hgemm(x, x.swapaxes(1, 2), symmetric=True), wanted)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"symmetric": "left"}, "`symmetric` must be True or one of 'both', 'lower', 'upper', not 'left'"),
        ({"bias": np.ones(40, np.float16)}, "takes no bias, no scales and no second `b`"),
        ({"scale_a": np.ones(1, np.float32)}, "takes no bias, no scales and no second `b`"),
        ({"epilogue": lambda x, i, j: x}, "the epilogue is a function of its element alone"),
        ({"out_dtype": "int8"}, "the epilogue is a function of its element alone"),
        ({"b": whole_numbers(24, 30)}, "`symmetric` is for square results, and this one is 40 x 30"),
    ],
)
def test_what_is_refused(given, message: str) -> None:
    a = whole_numbers(40, 24)
    with pytest.raises(ValueError, match=message):
        prism.lib.hgemm(**{"a": a, "b": a.T, "symmetric": True, **given})


def test_kinds_that_are_refused() -> None:
    a = np.ones((8, 16), np.int8)
    with pytest.raises(TypeError, match="`symmetric` is for products of float16 or bfloat16, not of int8"):
        prism.lib.hgemm(a, a.T, symmetric=True)
