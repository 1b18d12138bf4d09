"""Products of float64 by the tensor cores, and of any numbers, on the reference machine: layouts, tiles, edges, batches.

Tests of prism/lib/algorithms/matmul: kinds, pairs.
"""

import functools
import itertools
from dataclasses import replace
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run, schedules
from prism.kernels.matmul import BM, BN, HELPED, THREADS, TILES, DoubleCut, any_product, choose_double, kernel_of
from prism.kernels.matmul.pairs import expand_pairs, join_pairs, split_pairs
from prism.lang.tree.plan import Wait
from prism.lib.algorithms.matmul.api import _decide as decide
from prism.lib.algorithms.matmul.pairs import FEWEST
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.mutation import caught
from tests.rarely import rarely

SMALL = DoubleCut(64, 32, 16, 3, 2, 2)
FLAGS = False, True


@functools.cache
def program(cut: DoubleCut):
    return prism.check(kernel_of(cut), {"CUT": cut})


def padded(x):
    """Matrices whose rows are two or three elements longer, so that they begin at multiples of 16 bytes."""
    rows = np.zeros((*x.shape[:2], x.shape[2] + 2 + x.shape[2] % 2), x.dtype)
    rows[:, :, : x.shape[2]] = x
    return rows


def exact(m, n, k, cut=SMALL, *, batches=1, high=2, code=None, **options) -> bool:
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-9, 10, shape).astype(np.float64) for shape in ((batches, m, k), (batches, k, n)))
    left, right = padded(a if cut.along_a else a.swapaxes(1, 2)), padded(b.swapaxes(1, 2) if cut.along_b else b)
    out = np.full((batches, m, n + 3), np.nan)
    given = [part for x in (left, right) for part in (x.reshape(-1), x.shape[2], x.shape[1] * x.shape[2])]
    grid = batches * -(-m // cut.bm) * -(-n // cut.bn)
    arguments = [*given, out.reshape(-1), n + 3, m * (n + 3), m, n, k, high]
    run(code or program(cut), grid, cut.threads, arguments, **{"check": True, **options})
    assert np.isnan(out[:, :, n:]).all(), "written beside the result"
    return np.array_equal(out[:, :, :n], a @ b)


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES)))
def test_schedules(schedule: str, seed: int) -> None:
    assert exact(136, 72, 100, schedule=schedule, seed=seed)


@pytest.mark.covering(2)  # an operand's fragments go by its layout and the depth, each by its own
@pytest.mark.parametrize("depth", [4, 8, 16])
@pytest.mark.parametrize("along_b", FLAGS)
@pytest.mark.parametrize("along_a", FLAGS)
def test_layouts(along_a: bool, along_b: bool, depth: int) -> None:
    """By the `mma` of Hopper, and by that of Ampere; two elements a copy, or one."""
    cut = replace(SMALL, along_a=along_a, along_b=along_b, depth=depth)
    assert exact(100, 50, 70, cut, batches=2)
    assert exact(65, 33, 17, replace(cut, wide_a=False, wide_b=False))


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 130, 16), (64, 32, 15), (65, 31, 48), (129, 100, 3)])
def test_edges(m: int, n: int, k: int) -> None:
    assert exact(m, n, k, high=1)
    assert exact(m, n, k, high=9)


@pytest.mark.parametrize(
    "cut", rarely((HELPED, *TILES), but=(HELPED, *TILES[1:])), ids=lambda cut: f"{cut.bm}x{cut.bn}"
)
def test_tiles(cut: DoubleCut) -> None:
    """They are exact, and what they hold stays in registers."""
    assert exact(cut.bm + 5, cut.bn + 3, 40, cut)
    for depth, arch in ((cut.depth, "sm_90a"), (4, "sm_80"))[: 1 if cut.helped else 2]:
        entry = entry_of(program(replace(cut, depth=depth)), arch)
        assert compile_cubin(entry.source, entry.arch).spills == 0


def test_copies_go_ahead_with_a_barrier_a_step() -> None:
    """It is inferred; without the wait for what was copied something else is multiplied."""
    code = program(SMALL)
    plan = code.plans[code.entry]
    assert len([barrier for barrier in plan.skewed.barriers if barrier.kind == "block"]) == 1
    waits = [op for op in plan.operations if isinstance(op, Wait)]

    def right(mutant, **how) -> bool:
        return exact(65, 33, 100, code=mutant, **how)

    assert waits and right(code)
    for op in waits:
        assert caught(code.with_plan(plan.drop_step(op)), right)


def test_tiles_that_are_chosen() -> None:
    assert (
        choose_double(4096, 4096, 4096, 132, hopper=True) == choose_double(2048, 2048, 2048, 132, hopper=True) == HELPED
    )
    assert choose_double(4096, 4096, 4096, 132) == TILES[0], "no other GPU gives registers to those who multiply"
    assert choose_double(16, 8192, 8192, 132) == choose_double(64, 64, 4096, 132) == TILES[2], "of few rows, few"
    assert choose_double(32, 4096, 4096, 132) == TILES[-1], "few tiles: rather many small ones"
    for m, n, k, batches in ((1, 1, 1, 1), (1000, 17, 300, 3)):
        assert choose_double(m, n, k, 132, batches) in TILES


# -- any numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("along_a, along_b", list(itertools.product(FLAGS, FLAGS)))
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (65, 63, 17), (70, 130, 40), (3, 5, 0)])
def test_any_numbers(m: int, n: int, k: int, along_a: bool, along_b: bool) -> None:
    """Strides in any order; of a batch, in which there is one B for all."""
    rng = np.random.default_rng(m)
    a, b = rng.integers(-999, 999, (2, m, k), np.int32), rng.integers(-999, 999, (k, n), np.int32)
    out = np.full((2, m, n + 1), 7, np.int64)
    left, right = (
        a if along_a else np.ascontiguousarray(a.swapaxes(1, 2)),
        b if not along_b else np.ascontiguousarray(b.T),
    )
    near = ((k, 1) if along_a else (1, m)), ((n, 1) if not along_b else (1, k))
    code = prism.check(
        any_product,
        {"T": "int32", "TB": "int32", "OUT": "int64", "SUM": "uint64", "ALONG_A": along_a, "ALONG_B": along_b},
    )
    arguments = [
        left.reshape(-1),
        *near[0],
        m * k,
        right.reshape(-1),
        *near[1],
        0,
        out.reshape(-1),
        n + 1,
        m * (n + 1),
        m,
        n,
        k,
    ]
    run(code, 2 * -(-m // BM) * -(-n // BN), THREADS, arguments, check=True)
    assert np.array_equal(out[:, :, :n], a.astype(np.int64) @ b.astype(np.int64)) and (out[:, :, n:] == 7).all()


# -- the function ---------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(64)
KINDS = [
    "bool",
    *(sign + f"int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
]


def numbers(kind: str, *shape: int):
    """Numbers of all bits; floats that are small whole ones, so that nothing is rounded."""
    if kind == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    if kind.startswith("float"):
        return RNG.integers(-4, 5, shape).astype(kind)
    found = np.iinfo(kind)
    return RNG.integers(found.min, found.max, shape, kind, endpoint=True)


@pytest.mark.parametrize("turned", rarely(FLAGS, but=[False]))
@pytest.mark.parametrize("left", KINDS)
def test_any_two_dtypes(left: str, turned: bool) -> None:
    """As NumPy's: the result's dtype, wrapping of whole numbers, truth of bools; floats but for the order of sums.

    Two dtypes make one sum, whichever is on the left: `make test` takes them in one order, and each is as often on either side.
    """
    place = KINDS.index(left)
    for right in (kind for k, kind in enumerate(KINDS) if ((k + place) % 2 == (k < place)) is not turned or k == place):
        a, b = numbers(left, 13, 21), numbers(right, 21, 10)
        wanted, found = np.matmul(a, b), prism.lib.matmul(a, b)
        assert found.dtype == wanted.dtype, right
        if wanted.dtype.kind == "f" and {a.dtype.kind, b.dtype.kind} != {
            "f"
        }:  # sums of numbers of 64 bits, each rounded
            size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
            assert (np.abs(found.astype(np.float64) - wanted) <= 21 * np.finfo(wanted.dtype).eps * size).all(), right
        else:
            assert np.array_equal(found, wanted), right


@pytest.mark.parametrize("kind", ["float64", "int16"])
@pytest.mark.parametrize(
    "left, right",
    [((3, 70, 33), (3, 33, 40)), ((70, 33), (2, 3, 33, 40)), ((2, 1, 7, 33), (3, 33, 4)), ((33,), (33, 40)), ((70, 33), (33,)),
     ((5,), (5,)), ((4, 0), (0, 3)), ((0, 4), (4, 3))],
)  # fmt: skip
def test_shapes(left, right, kind: str) -> None:
    a, b = RNG.integers(-9, 10, left).astype(kind), RNG.integers(-9, 10, right).astype(kind)
    wanted, found = a @ b, prism.lib.matmul(a, b)
    assert type(found) is type(wanted) and np.array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["float64", "int64", "bool"])
def test_strides_and_results(kind: str) -> None:
    a, b = numbers(kind, 40, 30), numbers(kind, 30, 50)
    wanted = a @ b
    out = np.zeros((50, 40), kind).T
    assert prism.lib.matmul(a, b, out) is out and np.array_equal(out, wanted)
    assert np.array_equal(prism.lib.matmul(a[::2, ::3], b[::3, ::-1]), a[::2, ::3] @ b[::3, ::-1])
    assert np.array_equal(prism.lib.matmul(np.asfortranarray(a), np.asfortranarray(b)), wanted)
    wider = np.zeros((40, 50), np.float64)
    assert np.array_equal(prism.lib.matmul(a, b, wider), wanted), "cast by NumPy's rule"


# -- complex numbers ------------------------------------------------------------------------------------------------------


def complexes(rng, *shape: int):
    """Whole numbers whose products are exact in both dtypes."""
    return rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape)


@pytest.mark.parametrize("along_a, along_b, depth", list(itertools.product(FLAGS, FLAGS, (4, 16))))
def test_complex128_by_the_tensor_cores(along_a: bool, along_b: bool, depth: int) -> None:
    """A number of B is four of a matrix that nobody writes."""
    rng = np.random.default_rng(3)
    cuts = [replace(cut, along_a=along_a, along_b=along_b, depth=depth, complex=True) for cut in (SMALL, TILES[2])]
    for cut, (m, n, k) in itertools.product(cuts, ((1, 1, 1), (70, 33, 19), (64, 16, 8))):
        code = program(cut)
        a, b = complexes(rng, m, k), complexes(rng, k, n)
        left, right = (np.ascontiguousarray(x if along else x.T) for x, along in ((a, along_a), (b.T, along_b)))
        out = np.full((m, n + 1), np.nan, complex)
        given = [part for x in (left, right) for part in (x.view(float).reshape(-1), 2 * x.shape[1], 0)]
        arguments = [*given, out.view(float).reshape(-1), 2 * n + 2, 0, m, 2 * n, 2 * k, 2]
        run(code, -(-m // cut.bm) * -(-2 * n // cut.bn), cut.threads, arguments, check=True)
        assert np.isnan(out[:, n:]).all(), "written beside the result"
        assert np.array_equal(out[:, :n], a @ b), (m, n, k)


@pytest.mark.parametrize("along", FLAGS)
def test_pairs(along: bool) -> None:
    """The real matrix by which pairs of parts are multiplied, of each matrix of a batch."""
    x = complexes(np.random.default_rng(4), 2, 5, 3).astype(np.complex64)
    out = np.full((2, 10, 6), np.nan, np.float32)
    code = prism.check(expand_pairs, {"ALONG": along})
    run(code, 1, 256, [x.reshape(-1), 3, 1, 15, out.reshape(-1), 5, 3, 30], check=True)
    low = -x.imag if along else x.imag
    assert np.array_equal(out[:, ::2, ::2], x.real) and np.array_equal(out[:, 1::2, 1::2], x.real)
    assert np.array_equal(out[:, ::2, 1::2], low) and np.array_equal(out[:, 1::2, ::2], -low)


@pytest.mark.parametrize("along", FLAGS)
def test_few_rows_of_pairs(along: bool) -> None:
    """What is split, multiplied and joined is the product; a result has room behind its rows."""
    rng = np.random.default_rng(5)
    a, b = complexes(rng, 3, 130).astype(np.complex64), complexes(rng, 130, 7).astype(np.complex64)
    parts, out = np.full((6, 130 << along), np.nan, np.float32), np.full((3, 9), np.nan, np.complex64)
    run(
        prism.check(split_pairs, {"ALONG": along}),
        2,
        256,
        [a.reshape(-1), 130, 1, parts.reshape(-1), 3, 130],
        check=True,
    )
    real = np.ascontiguousarray(b.T).view(np.float32).T if along else b.view(np.float32)
    sums = np.ascontiguousarray(parts @ real)
    run(prism.check(join_pairs, {"ALONG": along}), 1, 256, [sums.reshape(-1), out.reshape(-1), 9, 3, 7], check=True)
    assert np.array_equal(out[:, :7], a @ b) and np.isnan(out[:, 7:]).all()


@pytest.mark.parametrize("shape", [(1, 128), (3, 130), (40, 160)])
def test_few_rows_of_complex64(shape: tuple[int, int]) -> None:
    """Of each layout, with `out`, and where `a` is a part of an array."""
    rng, (m, k) = np.random.default_rng(6), shape
    a, b = complexes(rng, m, k).astype(np.complex64), complexes(rng, k, 6).astype(np.complex64)
    for left, right in itertools.product((a, np.asfortranarray(a)), (b, np.asfortranarray(b))):
        assert np.array_equal(prism.lib.matmul(left, right), a @ b)
    out = np.zeros((6, m), np.complex64).T
    assert prism.lib.matmul(a, b, out) is out and np.array_equal(out, a @ b)
    wide = np.concatenate([a, a], 1)
    assert np.array_equal(prism.lib.matmul(wide[:, ::2], b), wide[:, ::2] @ b)


@pytest.mark.parametrize("m", [5, FEWEST])
@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_matmul_of_complex_numbers(kind: str, m: int) -> None:
    """Layouts, batches, vectors, `out`; with real numbers the result is NumPy's dtype."""
    rng = np.random.default_rng(m)
    a, b = complexes(rng, m, 7).astype(kind), complexes(rng, 7, 6).astype(kind)
    wanted = a @ b
    for left, right in itertools.product((a, np.asfortranarray(a)), (b, np.asfortranarray(b))):
        found = prism.lib.matmul(left, right)
        assert found.dtype == kind and np.array_equal(found, wanted)
    out = np.zeros((6, m), kind).T
    assert prism.lib.matmul(a, b, out) is out and np.array_equal(out, wanted)
    assert np.array_equal(prism.lib.matmul(a[::2, ::3], b[::3, ::-1]), a[::2, ::3] @ b[::3, ::-1])
    both = np.stack([a, 2 * a])
    assert np.array_equal(prism.lib.matmul(both, b), both @ b)
    assert np.array_equal(prism.lib.matmul(both, np.stack([b, -b])), both @ np.stack([b, -b]))
    assert np.array_equal(prism.lib.matmul(a[0], b), a[0] @ b) and prism.lib.matmul(a[0], b[:, 0]) == a[0] @ b[:, 0]
    assert np.array_equal(prism.lib.matmul(np.zeros((m, 0), kind), np.zeros((0, 3), kind)), np.zeros((m, 3)))
    for real in (np.float32, np.float64, np.int8):
        found, exact = prism.lib.matmul(a, b.real.astype(real)), a @ b.real.astype(real)
        assert found.dtype == exact.dtype and np.array_equal(found, exact)


def test_launches_of_complex_numbers() -> None:
    """Of complex128 one, by the tensor cores; of complex64 with many rows, or a long K, its pairs first, else one."""
    for kind, m, name in (("complex128", 64, "dgemm"), ("complex128", 3, "dgemm"), ("complex64", 3, "any_product")):
        plan = planned(np.zeros((m, 64), kind), np.zeros((64, 64), kind)).plan
        assert [step.instance.kernel.__name__ for step in plan.steps] == [name]
    plan = planned(np.zeros((2, 128), "complex64"), np.zeros((128, 64), "complex64")).plan
    assert [step.instance.kernel.__name__ for step in plan.steps][::2] == ["split_pairs", "join_pairs"]
    for m, k in ((256, 64), (40, 128)):
        plan = planned(np.zeros((m, k), "complex64"), np.zeros((k, 64), "complex64")).plan
        assert plan.steps[0].instance.kernel.__name__ == "expand_pairs" and len(plan.steps) > 1
        assert plan.scratch >= 4 * k * 64 * 4


def test_what_is_refused() -> None:
    """In NumPy's words where it has some."""
    a = np.ones((4, 4))
    with pytest.raises(
        TypeError, match=r"Cannot cast ufunc 'matmul' output from dtype\('float64'\) to dtype\('int32'\)"
    ):
        prism.lib.matmul(a, a, np.zeros((4, 4), np.int32))
    with pytest.raises(TypeError, match="`a` has dtype float8_e4m3fn, and matmul takes float32, float16"):
        prism.lib.matmul(a.astype(ml_dtypes.float8_e4m3fn), a)
    with pytest.raises(TypeError, match="matmul multiplies matrices of one dtype"):
        prism.lib.matmul(a.astype(np.float32), a.astype(ml_dtypes.bfloat16))
    with pytest.raises(ValueError, match="mismatch in its core dimension 0"):
        prism.lib.matmul(a.astype(int), np.ones((3, 4), int))


def planned(a, b, arch: str = "sm_90a"):
    gpu = SimpleNamespace(host=False, arch=arch, multiprocessors=132)
    return decide({"a": describe(a), "b": describe(b)}, None, gpu)


def test_launches_on_a_gpu() -> None:
    """One of a batch that has one stride, by the tensor cores from sm_80 on, if elements lie side by side along some axis."""
    a, b = np.ones((3, 64, 32)), np.ones((3, 32, 48))

    def kernels(*given):
        return [step.instance.kernel.__name__ for step in planned(*given).plan.steps]

    assert kernels(a, b) == ["dgemm"] and kernels(a, b[0]) == ["dgemm"] and kernels(a, b, "sm_75") == ["any_product"]
    assert kernels(a, b, "sm_80") == ["dgemm"] and kernels(a.astype(int), b.astype(int)) == ["any_product"]
    assert kernels(a[:, ::2, ::2], b[:, ::2]) == ["any_product"]
    assert kernels(np.broadcast_to(a[:, None], (3, 2, 64, 32)), b[:2]) == ["dgemm"] * 6, "no one stride"
