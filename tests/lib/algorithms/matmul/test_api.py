"""prism.lib.matmul and prism.lib.sgemm on NumPy arrays: what NumPy makes of the same arguments, errors' texts included.

Tests of prism/lib/algorithms/matmul: api, arguments; prism/lib/algorithms/sgemm/api.py; prism/lib/views.py.
"""

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.host import memory
from prism.kernels.sgemm import VARIANTS
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.runtime.arrays import describe
from tests.lib.algorithms.sgemm.test_ring import gpu

RANDOM = np.random.default_rng(0)


def numbers(*shape: int, kind="float32"):
    """Small integers, whose sums of products are exact in every dtype."""
    return RANDOM.integers(-3, 4, shape).astype(kind)


def like_numpy(a, b) -> None:
    """The same elements, dtype, shape and type as NumPy's."""
    found, wanted = prism.lib.matmul(a, b), np.matmul(a, b)
    assert (found.dtype, found.shape, type(found)) == (wanted.dtype, wanted.shape, type(wanted))
    assert np.array_equal(found, wanted)


SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((1, 1), (1, 1)), ((1, 7), (7, 1)),
    ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (6, 4, 5)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,)),
    ((1, 3, 4), (5, 4, 2)), ((2, 1, 3, 4), (3, 4, 5)), ((2, 1, 3, 4), (1, 3, 4, 5)), ((2, 3, 2, 4), (4, 3)),
    ((3, 0), (0, 5)), ((0, 3), (3, 5)), ((3, 4), (4, 0)), ((0,), (0,)), ((0, 3, 4), (4, 5)), ((2, 3, 0), (0, 5)), ((0,), (0, 3)),
]  # fmt: skip


@pytest.mark.parametrize("columns", [7, 13, 4095, 4096])
def test_copies_for_tensor_copies_have_rows_of_whole_sectors(columns: int) -> None:
    """An operand of rows of 16 bytes is taken as it is; others are copied, to rows of 32 bytes."""
    shapes = {"a": (4, 24), "b": (24, columns), "c": (4, columns)}
    arrays = {name: describe(numbers(*shape, kind="float16")) for name, shape in shapes.items()}
    decision = decide_hgemm(arrays, None, gpu(), beta=1.0)
    assert decision.copied == (() if columns % 8 == 0 else ("b", "c"))
    for name in decision.copied:
        taken = memory.copy(arrays[name], name in decision.columns, decision.pad)
        assert taken.strides[0] % 32 == 0 and np.array_equal(taken, arrays[name].owner)
        arrays[name] = describe(taken)
    assert decide_hgemm(arrays, None, gpu(), beta=1.0).plan is not None


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes(shapes, kind: str) -> None:
    a, b = (numbers(*shape, kind=kind) for shape in shapes)
    like_numpy(a, b)
    wanted = np.matmul(a, b)
    if wanted.ndim:
        for out in (
            np.full_like(wanted, np.nan),
            np.full(wanted.shape[::-1], np.nan, kind).T,
            np.full(wanted.shape, np.nan),
        ):
            assert prism.lib.matmul(a, b, out=out) is out and np.array_equal(out, wanted)
    out = np.full(wanted.shape, np.nan, kind)
    assert prism.lib.matmul(a, b, out=out) is out and np.array_equal(out, wanted)


def test_views() -> None:
    """Transposed, stepped, reversed, repeated; of records, whose strides don't count elements; of the other byte order."""
    whole = numbers(24, 24)
    views = (
        whole[:6, :6], whole.T[3:9, 1:7], whole[::4, ::4], whole[::-4, 5::-1], np.broadcast_to(whole[0, :6], (6, 6)),
        whole[1:2, :6].repeat(6, 0)[:, ::-1], whole[:6, :6].astype(">f4"),
        np.zeros((6, 6), [("pad", "u1"), ("x", "f4")])["x"],
    )  # fmt: skip
    for a in views:
        for b in views:
            assert np.array_equal(prism.lib.matmul(a, b), np.matmul(a, b))
    stack = numbers(4, 5, 6, 7)
    for a in (stack, stack[::2, ::-1], stack.swapaxes(0, 1)[:4, :4], np.broadcast_to(stack[:1], stack.shape)):
        like_numpy(a, stack[0, 0].T)
        like_numpy(a, a.swapaxes(2, 3))
        like_numpy(stack[0, 0].T, a)


def test_the_result_may_overlap_the_operands() -> None:
    for kind in ("float32", "float16"):
        x = numbers(6, 6, kind=kind)
        wanted = x @ x
        assert prism.lib.matmul(x, x, out=x) is x and np.array_equal(x, wanted)
        memory = numbers(8, 6, kind=kind)
        a, out = memory[:6], memory[2:]
        wanted = a @ a
        prism.lib.matmul(a, a.copy(), out=out)
        assert np.array_equal(out, wanted)
        x = numbers(3, 6, 6, kind=kind)
        wanted = x @ x[0]
        prism.lib.matmul(x, x[0], out=x)
        assert np.array_equal(x, wanted)


def test_results_of_another_dtype_and_layout() -> None:
    a, b = numbers(5, 6), numbers(6, 7)
    records = np.zeros((5, 7), [("pad", "u1"), ("x", "f4")])["x"]
    for out in (np.empty((5, 7)), np.empty((5, 7), ">f4"), np.empty((10, 21), np.float32)[::2, ::3], records):
        prism.lib.matmul(a, b, out=out)
        assert np.array_equal(out, a @ b)


A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)


@pytest.mark.parametrize(
    "a, b",
    [
        (np.ones((), np.float32), B), (A, np.ones((), np.float32)), (A, A), (A[0], A), (A, A[0, :3]), (A[0], A[0, :3]),
        (np.ones((2, 3, 4), np.float32), np.ones((3, 4, 5), np.float32)),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(a, b) -> None:
    """NumPy's errors, with its words."""
    with pytest.raises(ValueError) as wanted:
        np.matmul(a, b)
    with pytest.raises(ValueError) as found:
        prism.lib.matmul(a, b)
    assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize(
    "error, text, call",
    [
        (TypeError, "`a` must be an array", lambda: prism.lib.matmul({1.0}, B)),
        (TypeError, "`b` has dtype float8_e5m2", lambda: prism.lib.matmul(A, B.astype(ml_dtypes.float8_e5m2))),
        (ValueError, "`out` must have shape", lambda: prism.lib.matmul(A, B, out=np.zeros((3, 4), np.float32))),
        (
            TypeError,
            "Cannot cast ufunc 'matmul' output",
            lambda: prism.lib.matmul(A, B, out=np.zeros((3, 5), np.int32)),
        ),
        (ValueError, "`out` is read-only", lambda: prism.lib.matmul(A, B, out=np.broadcast_to(np.float32(0), (3, 5)))),
        (TypeError, "`a` has dtype float16, and sgemm takes float32", lambda: prism.lib.sgemm(A.astype(np.float16), B)),
        (ValueError, "`a` must have 2 axes or more", lambda: prism.lib.sgemm(A[0], B)),
        (ValueError, "shapes don't fit", lambda: prism.lib.sgemm(A, A)),
        (ValueError, "broadcast", lambda: prism.lib.sgemm(np.stack([A, A]), np.stack([B, B, B]))),
        (ValueError, "`c`, which is missing", lambda: prism.lib.sgemm(A, B, beta=1.0)),
        (ValueError, "`c` must have shape", lambda: prism.lib.sgemm(A, B, A, beta=1.0)),
        (TypeError, "`c` must be of float32", lambda: prism.lib.sgemm(A, B, np.zeros((3, 5)), beta=1.0)),
        (TypeError, "`out` must be of float32", lambda: prism.lib.sgemm(A, B, out=np.zeros((3, 5)))),
        (ValueError, "`variant` must be one of auto, naive", lambda: prism.lib.sgemm(A, B, variant="fast")),
        (ValueError, "`stream` is for arrays on a GPU", lambda: prism.lib.sgemm(A, B, stream=1)),
    ],
)
def test_errors(error, text: str, call) -> None:
    with pytest.raises(error) as found:
        call()
    assert text in str(found.value)


@pytest.mark.parametrize("variant", ["auto", *VARIANTS])
def test_sgemm(variant: str) -> None:
    a, b, c = numbers(30, 17), numbers(17, 41), numbers(30, 41)
    assert np.array_equal(prism.lib.sgemm(a, b, variant=variant), a @ b)
    assert np.array_equal(prism.lib.sgemm(b.T, a.T, alpha=2.0, variant=variant), 2 * (a @ b).T)
    before = c.copy()
    assert np.array_equal(prism.lib.sgemm(a, b, c, alpha=2.0, beta=-1.0, variant=variant), 2 * (a @ b) - c)
    assert np.array_equal(c, before), "`c` is not written"
    for out in (c, c.copy(), np.asfortranarray(c), np.empty((41, 30), np.float32).T):
        c[...] = before
        assert prism.lib.sgemm(a, b, c, beta=3.0, out=out, variant=variant) is out
        assert np.array_equal(out, a @ b + 3 * before)


def test_sgemm_where_c_overlaps_the_result() -> None:
    memory, a, b = numbers(8, 5), numbers(6, 4), numbers(4, 5)
    c, out = memory[:6], memory[2:]
    wanted = a @ b + c
    prism.lib.sgemm(a, b, c, beta=1.0, out=out)
    assert np.array_equal(out, wanted)


def test_sgemm_reads_nothing_that_has_no_factor() -> None:
    """As BLAS: NaN in what is not read does not matter."""
    a, b, c = np.full((3, 4), np.nan, np.float32), np.full((4, 5), np.nan, np.float32), numbers(3, 5)
    assert np.array_equal(prism.lib.sgemm(a, b, c, alpha=0.0, beta=2.0), 2 * c)
    nothing = np.full((3, 5), np.nan, np.float32)
    assert np.array_equal(prism.lib.sgemm(A, B, nothing), A @ B)
    assert np.array_equal(prism.lib.sgemm(A, B, nothing, out=nothing), A @ B)


@pytest.mark.parametrize("variant", VARIANTS)
def test_sgemm_of_batches(variant: str) -> None:
    """One launch where the axes can be walked together, a loop where not: the results are the same."""
    a, b = numbers(2, 3, 5, 6), numbers(3, 6, 7)
    for x, y in ((a, b), (a[:, :1], b), (a[:, ::2], b[::2]), (a.swapaxes(0, 1)[:2, :, :, :], b[0]), (a[0, 0], b)):
        found = prism.lib.sgemm(x, y, variant=variant)
        assert np.array_equal(found, x @ y)
        out = np.full(found.shape[::-1], np.nan, np.float32).T
        assert np.array_equal(prism.lib.sgemm(x, y, found, beta=1.0, out=out, variant=variant), 2 * (x @ y))
