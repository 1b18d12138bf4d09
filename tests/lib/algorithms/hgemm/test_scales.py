"""prism.lib.hgemm of scales of blocks, and of 8-bit integers, on NumPy arrays: what is taken, what comes out, what is refused.

Tests of prism/lib/algorithms/hgemm: scales, product.
"""

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.kernels.hgemm import choose_integers
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.runtime.arrays import describe
from tests.kernels.test_hgemm import relu
from tests.lib.algorithms.sgemm.test_ring import gpu

RNG = np.random.default_rng(31)
M, N, K = 72, 200, 300
STEPS, BLOCKS = 3, 2


def floats(*shape: int):
    return RNG.integers(-3, 4, shape).astype(ml_dtypes.float8_e4m3fn)


def powers(*shape: int):
    return (2.0 ** RNG.integers(-2, 3, shape)).astype(np.float32)


def scaled(x, scales, each: int):
    return x.astype(np.float64) * np.repeat(np.repeat(scales, each, 0)[: len(x)], 128, 1)[:, : x.shape[1]]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("each", [1, 128])
def test_scales_of_blocks(each: int, order: str) -> None:
    """Those of `a` are of rows of it, by K; those of `b` of columns: as the operands lie, or not."""
    x, w = floats(M, K), floats(N, K)
    rows, columns = powers(M, STEPS), powers(-(-N // each), STEPS)
    wanted = scaled(x, rows, 1) @ scaled(w, columns, each).T
    given = {"scale_a": np.asarray(rows, order=order), "scale_b": np.asarray(columns.T, order=order)}
    assert np.array_equal(prism.lib.hgemm(x, w.T, **given), wanted)
    assert np.array_equal(prism.lib.hgemm(w, x.T, scale_a=columns, scale_b=rows.T), wanted.T), "blocks of `a`"
    apart = np.zeros((M, 2 * STEPS), np.float32)
    apart[:, ::2] = rows
    assert np.array_equal(prism.lib.hgemm(x, w.T, scale_a=apart[:, ::2], scale_b=columns.T), wanted), "with gaps"


def test_what_comes_after_scales_of_blocks() -> None:
    """alpha, c, a bias, functions of an element and of its place, extras and reductions."""
    x, w, rows, columns = floats(M, K), floats(N, K), powers(M, STEPS), powers(BLOCKS, STEPS)
    exact = scaled(x, rows, 1) @ scaled(w, columns, 128).T
    c, bias = RNG.integers(-9, 9, (M, N)).astype(np.float32), RNG.integers(-9, 9, N).astype(np.float32)
    scales = {"scale_a": rows, "scale_b": columns.T}
    found = prism.lib.hgemm(x, w.T, c, alpha=2.0, beta=-1.0, bias=bias, epilogue=relu, **scales)
    assert np.array_equal(found, np.maximum(2 * exact - c + bias, 0))
    found = prism.lib.hgemm(x, w.T, epilogue=lambda v, i, j, b: v + b + i, extra=bias, **scales)
    assert np.array_equal(found, exact + bias + np.arange(M)[:, None])
    _, most = prism.lib.hgemm(x, w.T, epilogue=(None, prism.lib.epilogues.reduce(op="maximum", axis=1)), **scales)
    assert np.array_equal(most, exact.max(axis=1))


def test_scales_of_one_step_of_k_are_of_rows_and_columns() -> None:
    """Of 128 of K or fewer, what is of a row is of its one block too."""
    x, w, rows = floats(M, 128), floats(N, 128), powers(M, 1)
    across = powers(BLOCKS, 1)
    wanted = scaled(x, rows, 1) @ scaled(w, across, 128).T
    assert np.array_equal(prism.lib.hgemm(x, w.T, scale_a=rows, scale_b=across.T), wanted)


@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"scale_a": (M, STEPS)}, ValueError, "`scale_a` has scales of blocks, and `scale_b` is missing"),
        ({"scale_b": (STEPS, N)}, ValueError, "`scale_b` has scales of blocks, and `scale_a` is missing"),
        (
            {"scale_a": (M, STEPS), "scale_b": (N,)},
            ValueError,
            "`scale_b` must have shape .* as the other scales are of blocks",
        ),
        (
            {"scale_a": (M, STEPS + 1), "scale_b": (STEPS, BLOCKS)},
            ValueError,
            "`scale_a` must have one element, or shape",
        ),
        ({"scale_a": (M, STEPS), "scale_b": (BLOCKS, STEPS)}, ValueError, "`scale_b` must have one element, or shape"),
    ],
)
def test_scales_that_do_not_fit(given, error, message: str) -> None:
    with pytest.raises(error, match=message):
        prism.lib.hgemm(floats(M, K), floats(N, K).T, **{name: powers(*shape) for name, shape in given.items()})


def test_scales_of_blocks_that_there_are_not() -> None:
    half = np.zeros((M, K), np.float16), np.zeros((K, N), np.float16)
    with pytest.raises(TypeError, match="scales of blocks are for 8-bit floats, not for float16"):
        prism.lib.hgemm(*half, scale_a=powers(M, STEPS), scale_b=powers(STEPS, BLOCKS))
    with pytest.raises(ValueError, match="of two products there are no scales of blocks"):
        both, scales = (floats(N, K).T,) * 2, {"scale_a": powers(M, STEPS), "scale_b": powers(STEPS, BLOCKS)}
        prism.lib.hgemm(floats(M, K), both, epilogue=lambda x, y: x * y, **scales)


# -- integers ---------------------------------------------------------------------------------------------------------------


def integers(dtype, *shape: int):
    found = np.iinfo(dtype)
    return RNG.integers(found.min, found.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("m, n, k", [(70, 50, 640), (1, 1, 1), (129, 33, 17), (3, 5, 0)])
def test_integers(dtype, m: int, n: int, k: int) -> None:
    a, w = integers(dtype, m, k), integers(dtype, n, k)
    found = prism.lib.hgemm(a, w.T, dtype="uint8" if dtype == np.uint8 else None)
    assert found.dtype == np.int32 and np.array_equal(found, a.astype(np.int64) @ w.T.astype(np.int64))


def test_batches_of_integers() -> None:
    a, w = integers(np.int8, 3, 20, 64), integers(np.int8, 3, 24, 64)
    wanted = a.astype(int) @ w.astype(int).swapaxes(1, 2)
    assert np.array_equal(prism.lib.hgemm(a, w.swapaxes(1, 2)), wanted)


def test_sums_that_do_not_fit_wrap() -> None:
    """As int32 does everywhere: 2^17 products of 128 * 128 are 2^31."""
    a = np.full((1, 1 << 17), -128, np.int8)
    assert prism.lib.hgemm(a, a.T)[0, 0] == -(2**31)


def test_integers_that_become_floats() -> None:
    """By scales of rows and columns, an epilogue and what it is given; 8 bits are rounded."""
    a, w = integers(np.int8, 40, 96), integers(np.int8, 24, 96)
    exact = (a.astype(int) @ w.T.astype(int)).astype(np.float64)
    rows, columns, bias = powers(40), powers(24), RNG.integers(-9, 9, 24).astype(np.float32)
    found = prism.lib.hgemm(a, w.T, scale_a=rows, scale_b=columns, bias=bias, out_dtype="float32", epilogue=relu)
    assert np.array_equal(found, np.maximum(exact * rows[:, None] * columns + bias, 0))
    found = prism.lib.hgemm(a, w.T, epilogue=lambda x, s: x * s, extra=np.float32(2.0**-10), out_dtype="int8")
    assert found.dtype == np.int8 and np.array_equal(found, np.clip(np.rint(exact * 2.0**-10), -128, 127))
    half = prism.lib.hgemm(a, w.T, alpha=2.0**-6, out_dtype="float16")
    assert np.array_equal(half, (exact * 2.0**-6).astype(np.float16))


@pytest.mark.parametrize("name, value", [("alpha", 2.0), ("scale_a", powers(40)), ("scale_b", powers(24))])
def test_sums_of_integers_are_not_scaled(name: str, value) -> None:
    a, w = integers(np.int8, 40, 96), integers(np.int8, 24, 96)
    with pytest.raises(TypeError, match=f"`{name}` makes floats of sums of integers: give `out_dtype`"):
        prism.lib.hgemm(a, w.T, **{name: value})


def test_what_is_refused_of_integers() -> None:
    a, w = integers(np.int8, 40, 96), integers(np.int8, 24, 96)
    with pytest.raises(ValueError, match="`b` of int8 must be the transpose of a row-major n x k array"):
        prism.lib.hgemm(a, np.ascontiguousarray(w.T))
    with pytest.raises(TypeError, match="`out_dtype` must be int32, float16"):
        prism.lib.hgemm(a, w.T, out_dtype="int64")
    with pytest.raises(TypeError, match="`b` has dtype uint8, and hgemm takes"):
        prism.lib.hgemm(a, w.view(np.uint8).T)
    with pytest.raises(TypeError, match="`a` has dtype uint8, and hgemm takes"):  # it may hold 8-bit floats
        prism.lib.hgemm(a.view(np.uint8), w.view(np.uint8).T)
    with pytest.raises(TypeError, match="`dtype` is uint8, and `a` has dtype int8, not uint8"):
        prism.lib.hgemm(a, w.T, dtype="uint8")
    with pytest.raises(TypeError, match="`out_dtype` must be float16, bfloat16 or float32"):
        prism.lib.hgemm(np.zeros((2, 2), np.float16), np.zeros((2, 2), np.float16), out_dtype="int32")


@pytest.mark.parametrize("parted", [False, True])
def test_tiles_of_integers(parted: bool) -> None:
    """Of 8, 16 or 24 columns, or a multiple of 16, for every shape; in parts of K where those are few."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        m, n, k = (int(2 ** rng.uniform(low, 14)) for low in (0, 6, 6))
        found = choose_integers(m, n, -(-k // 2), 132, parted=parted)
        assert (found.bn <= 24 or found.bn % 16 == 0) and (parted or found.parts == 1)
    assert choose_integers(4096, 4096, 2048, 132, 3).parts == 1


def test_on_a_gpu_scales_are_taken_as_they_lie() -> None:
    """A launch, and no copies, of scales whose rows lie side by side, and of those whose K does."""
    x, w = floats(128, 512), floats(256, 512)
    for rows in (powers(128, 4), np.asfortranarray(powers(128, 4))):
        given = {"a": describe(x), "b": describe(w.T), "scale_a": describe(rows), "scale_b": describe(powers(2, 4).T)}
        plan = decide_hgemm(given, None, gpu()).plan
        assert plan is not None and len(plan.steps) == 1
