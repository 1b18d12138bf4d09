"""Products of groups on NumPy arrays: forms, layouts that are copied, `out`, and every error.

Tests of prism/lib/algorithms/grouped: api, plan, cases; kernels/grouped: configurations.py, gathered.py, schedule.py, product.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.kernels.grouped import choose
from prism.lib.algorithms.grouped.api import decide_grouped
from prism.lib.epilogues import reduce
from prism.runtime.arrays import describe

RANDOM = np.random.default_rng(0)
OFFSETS = np.array([0, 5, 5, 40], np.int32)
GPU = SimpleNamespace(host=False, arch="sm_90a", multiprocessors=132, wave=lambda *_: 132)


def small(*shape: int, kind: Any = np.float16) -> Any:
    return RANDOM.integers(-2, 3, shape).astype(kind)


A, B = small(40, 24), small(3, 24, 16)


def wanted(a: Any, b: Any, offsets: Any) -> Any:
    group = np.searchsorted(offsets[1:], np.arange(len(a)), side="right")
    return (a.astype(np.float32)[:, None] @ b.astype(np.float32)[group])[:, 0].astype(a.dtype)


def test_forms() -> None:
    y = lib.grouped_matmul(A, B, OFFSETS)
    assert np.array_equal(y, wanted(A, B, OFFSETS)) and y.dtype == np.float16
    assert np.array_equal(lib.grouped_matmul(A, B, OFFSETS[1:].astype(np.int64)), y)
    rows = RANDOM.integers(0, 40, 40)
    assert np.array_equal(lib.grouped_matmul(A, B, OFFSETS, rows=rows), wanted(A[rows], B, OFFSETS))
    room = small(3, 9, 24)
    out = np.full((3, 9, 16), 7, np.float16)
    assert lib.grouped_matmul(room, B, counts=np.array([2, 0, 9]), out=out) is out
    assert np.array_equal(out[2], room[2] @ B[2]) and np.array_equal(out[0, :2], room[0, :2] @ B[0])
    assert (out[1] == 7).all() and (out[0, 2:] == 7).all()
    gradient = lib.grouped_matmul(A.T, y, OFFSETS, out_dtype="float32")
    assert gradient.shape == (3, 24, 16) and not gradient[1].any()
    assert np.array_equal(gradient[2], A[5:].T.astype(np.float32) @ y[5:].astype(np.float32))


@pytest.mark.parametrize("how", ["columns", "reversed", "swapped", "broadcast"])
def test_arrays_that_are_copied_first(how: str) -> None:
    a, b, offsets = A, B, OFFSETS
    if how == "columns":
        a, b = np.asfortranarray(A), np.asfortranarray(B)
    elif how == "reversed":
        a, b, offsets = A[::-1].copy()[::-1], B[:, ::-1].copy()[:, ::-1], OFFSETS[::-1].copy()[::-1]
    elif how == "swapped":
        a, b, offsets = A.astype(">f2"), B.astype(">f2"), OFFSETS.astype(">i4")
    else:
        a, b = np.broadcast_to(A[:1], A.shape), np.broadcast_to(B[:1], B.shape)
    assert np.array_equal(
        lib.grouped_matmul(a, b, offsets), wanted(a.astype(np.float16), b.astype(np.float16), offsets)
    )


def test_what_a_gpu_copies_first() -> None:
    """Rows that tensor copies can't take; matrices are copied as they lie, along k or along n."""

    def copied(a: Any, b: Any, offsets: Any = OFFSETS) -> Any:
        found = decide_grouped({"a": describe(a), "b": describe(b), "offsets": describe(offsets)}, None, GPU)
        return found.copied, found.columns

    assert copied(A, B) == ((), ())
    assert copied(A, B.swapaxes(1, 2).copy().swapaxes(1, 2)) == ((), ())
    assert copied(A[:, :20], small(3, 20, 16)) == ((), ())  # rows are 24 elements apart
    assert copied(small(40, 20), small(3, 20, 16)) == (("a",), ())
    assert copied(A, small(3, 24, 15)) == (("b",), ())
    assert copied(small(40, 20), small(3, 16, 20).swapaxes(1, 2)) == (("a", "b"), ("b",))
    assert copied(A.T, small(40, 16)) == ((), ())
    assert copied(small(24, 40), small(40, 16)) == (("a",), ("a",))
    assert copied(A, B, OFFSETS.repeat(2)[::2]) == (("offsets",), ())


def test_out() -> None:
    out = np.full((40, 16), 7, np.float16)
    assert lib.grouped_matmul(A, B, np.array([3, 5, 5, 30]), out=out) is out
    assert (out[:3] == 7).all() and (out[30:] == 7).all() and np.array_equal(out[3:5], A[3:5] @ B[0])
    plan = lib.plan(lib.grouped_matmul, A, B, OFFSETS, out=out)
    plan(A, B, OFFSETS, out)
    assert np.array_equal(out, wanted(A, B, OFFSETS))
    wide = np.zeros((40, 32), np.float16)
    with pytest.raises(ValueError, match="`out` must have rows that are in C order"):
        lib.grouped_matmul(A, B, OFFSETS, out=wide[:, ::2])


def test_none_at_all() -> None:
    assert lib.grouped_matmul(A[:0], B, np.zeros(4, np.int32)).shape == (0, 16)
    assert lib.grouped_matmul(A, B[:, :, :0], OFFSETS).shape == (40, 0)
    assert not lib.grouped_matmul(A[:, :0], B[:, :0], OFFSETS).any()
    assert (lib.grouped_matmul(A[:, :0], B[:, :0], OFFSETS, epilogue=lambda x: x + 1.0) == 1).all()
    assert not lib.grouped_matmul(A[:0].T, small(0, 16), np.zeros(3, np.int64)).any()


def test_eight_bits() -> None:
    a, w = (lib.quantize(small(*shape, kind=np.float32), group="tensor")[0] for shape in ((40, 32), (3, 16, 32)))
    b = w.swapaxes(1, 2)
    y = lib.grouped_matmul(a, b, OFFSETS)
    assert y.dtype == np.float32
    for g, (begin, end) in enumerate(zip(OFFSETS, OFFSETS[1:], strict=False)):
        if end > begin:
            assert np.array_equal(y[begin:end], lib.hgemm(a[begin:end], b[g]))
    with pytest.raises(ValueError, match="column-major|transpose of a row-major"):
        lib.grouped_matmul(a, np.ascontiguousarray(b), OFFSETS)
    with pytest.raises(TypeError, match="groups along K"):
        lib.grouped_matmul(a.T, a[:, :16], OFFSETS)


@pytest.mark.parametrize("form", ["contiguous", "gathered", "masked", "along k", "columns of any number"])
def test_two_results(form: str) -> None:
    """Of two functions each makes one, in every form; of arrays that are given they are copied there."""
    two = (lambda x: max(x, 0.0), None)
    a, b, offsets, more = A, B, OFFSETS, {}
    if form == "gathered":
        more = {"rows": np.arange(40)[::-1].copy()}
    elif form == "masked":
        a, offsets, more = A.reshape(1, *A.shape).repeat(3, 0), None, {"counts": np.array([40, 40, 40])}
    elif form == "along k":
        a, b = A.T, small(40, 8)
    elif form == "columns of any number":
        b = B[:, :, :13]
    one = lib.grouped_matmul(a, b, offsets, **more)
    first, other = lib.grouped_matmul(a, b, offsets, epilogue=two, **more)
    assert np.array_equal(other, one) and np.array_equal(first, np.maximum(one, 0))
    given = np.zeros_like(one), np.zeros_like(one)
    found = lib.grouped_matmul(a, b, offsets, epilogue=two, out=given, **more)
    assert found[0] is given[0] and np.array_equal(given[0], first) and np.array_equal(given[1], other)
    none = lib.grouped_matmul(A[:0], B, np.zeros(4, int), epilogue=two)
    assert [y.shape for y in none] == [(0, 16), (0, 16)]


def test_an_epilogue_of_extras() -> None:
    bias, scale = small(3, 1, 16), small(40, 1, kind=np.float32)
    y = lib.grouped_matmul(
        A, B, OFFSETS, epilogue=lambda x, b, s, by: max(x + b, 0.0) * s + by, extra=(bias, scale, 2.0)
    )
    sums = wanted(A, B, OFFSETS) + np.concatenate([bias[0]] * 5 + [bias[2]] * 35)
    assert np.array_equal(y, (np.maximum(sums, 0) * scale + 2).astype(np.float16))
    with pytest.raises(ValueError, match="all for all groups"):
        lib.grouped_matmul(A, B, OFFSETS, epilogue=lambda x, b, c: x + b + c, extra=(bias, bias[0]))
    with pytest.raises(ValueError, match="no reduction: reduce the result"):
        lib.grouped_matmul(A, B, OFFSETS, epilogue=(lambda x: x, reduce()))
    with pytest.raises(TypeError, match="`out` must be a tuple of 2 arrays"):
        lib.grouped_matmul(A, B, OFFSETS, epilogue=(None, lambda x: x), out=np.empty((40, 16), np.float16))
    with pytest.raises(TypeError, match="takes 2 arguments"):
        lib.grouped_matmul(A, B, OFFSETS, epilogue=lambda x, y: x)
    with pytest.raises(ValueError, match=r"`extra\[0\]` must have shape"):
        lib.grouped_matmul(A, B, OFFSETS, epilogue=lambda x, y: x + y, extra=small(7))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "no offsets": (lambda: lib.grouped_matmul(A, B), ValueError, "`offsets`, or by `counts`"),
    "both": (lambda: lib.grouped_matmul(A, B, OFFSETS, counts=OFFSETS), ValueError, "`offsets`, or by `counts`"),
    "a's dtype": (lambda: lib.grouped_matmul(A.astype(np.float32), B, OFFSETS), TypeError, "`a` has dtype float32"),
    "b's dtype": (lambda: lib.grouped_matmul(A, B.astype(np.int8), OFFSETS), TypeError, "`b` has dtype int8"),
    "offsets' dtype": (lambda: lib.grouped_matmul(A, B, OFFSETS.astype(np.float32)), TypeError, "`offsets` has dtype float32"),
    "offsets' axes": (lambda: lib.grouped_matmul(A, B, OFFSETS[None]), ValueError, "`offsets` must have 1 axis"),
    "offsets' number": (lambda: lib.grouped_matmul(A, B, OFFSETS[:2]), ValueError, "must have 4 elements, for 3 groups"),
    "no group": (lambda: lib.grouped_matmul(A, B[:0], OFFSETS[:1]), ValueError, "there must be a group"),
    "no group of K": (lambda: lib.grouped_matmul(A.T, A, OFFSETS[:1]), ValueError, "there must be a group"),
    "k": (lambda: lib.grouped_matmul(A, small(3, 23, 16), OFFSETS), ValueError, "so k is 24 or 23"),
    "axes": (lambda: lib.grouped_matmul(small(2, 3, 24), B, OFFSETS), ValueError, "have `counts`"),
    "counts' number": (lambda: lib.grouped_matmul(small(3, 9, 24), B, counts=OFFSETS), ValueError, "each of 3 groups, not 4"),
    "counts' axes": (lambda: lib.grouped_matmul(A, B, counts=OFFSETS[1:]), ValueError, "`a` must have 3 axes"),
    "groups": (lambda: lib.grouped_matmul(small(2, 9, 24), B, counts=OFFSETS[2:]), ValueError, "2 groups and `b` 3"),
    "rows' dtype": (lambda: lib.grouped_matmul(A, B, OFFSETS, rows=A[:, 0]), TypeError, "`rows` has dtype float16"),
    "rows along k": (lambda: lib.grouped_matmul(A.T, A, OFFSETS, rows=OFFSETS), ValueError, "not along K"),
    "rows of none": (lambda: lib.grouped_matmul(A[:0], B, OFFSETS, rows=OFFSETS), ValueError, "`a` no rows"),
    "out's shape": (lambda: lib.grouped_matmul(A, B, OFFSETS, out=A), ValueError, "`out` must have shape"),
    "out's dtype": (lambda: lib.grouped_matmul(A, B, OFFSETS, out=small(40, 16, kind=np.int16)), TypeError, "`out` must be"),
    "stream": (lambda: lib.grouped_matmul(A, B, OFFSETS, stream=1), ValueError, "`stream` is for arrays on a GPU"),
    "epilogue": (lambda: lib.grouped_matmul(A, B, OFFSETS, epilogue=3), TypeError, "`epilogue` must be a device function"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text):
        call()


def test_tiles_are_chosen_by_rows_of_a_group() -> None:
    """Of few rows those of 64 that waste the fewest columns; of many such as take two pieces of K, where it is whole pieces."""
    assert [choose(128, 256, n).bn for n in (1536, 4096, 28672)] == [192, 256, 192]
    sizes = [choose(8, 8 * rows, 4096) for rows in (32, 64, 128, 256, 1024, 4096)]
    many, wide, deep = (128, 256, 64), (256, 192, 64), (128, 256, 128)
    assert [(one.bm, one.bn, one.bk) for one in sizes] == [(64, 256, 64), many, many, many, deep, wide]
    assert choose(8, 8192, 4096, gathered=True).bm == 128 and choose(8, 8192, 4096, along_k=True).bk == 64
    for k, step in ((256, 128), (192, 64)):
        offsets = np.array([0, 1024], np.int32)
        arrays = {"a": describe(small(1024, k)), "b": describe(small(1, k, 256)), "offsets": describe(offsets)}
        plan = decide_grouped(arrays, None, GPU).plan
        assert plan is not None and dict(plan.steps[0].instance.template)["CUT"].bk == step


def test_pairs() -> None:
    """Of two matrices a group: both k innermost, or copied so; not along k, and alike."""
    more = small(3, 24, 16)
    both = wanted(A, B, OFFSETS).astype(np.float32) * wanted(A, more, OFFSETS).astype(np.float32)
    for pair in ((B, more), [x.swapaxes(1, 2).copy().swapaxes(1, 2) for x in (B, more)]):
        found = lib.grouped_matmul(A, pair, OFFSETS, epilogue=lambda x, y: x * y, out_dtype="float32")
        assert np.array_equal(found, both)
    rows = RANDOM.integers(0, 40, 40)
    found = lib.grouped_matmul(A, (B, more), OFFSETS, rows=rows, epilogue=lambda x, y: x - y)
    assert np.array_equal(found, wanted(A[rows], B - more, OFFSETS))
    assert not lib.grouped_matmul(A[:, :0], (B[:, :0], B[:, :0]), OFFSETS, epilogue=lambda x, y: x + y).any()
    for arrays, text in (
        ((B,) * 3, "one array, or two, not 3"),
        ((B, B[:, :, :8]), r"`b\[1\]` must have shape"),
        ((B, B), "missing"),
    ):
        with pytest.raises(ValueError, match=text):
            lib.grouped_matmul(A, arrays, OFFSETS)
    with pytest.raises(TypeError, match=r"`b\[1\]` has dtype"):
        lib.grouped_matmul(A, (B, B.astype(np.float32)), OFFSETS, epilogue=lambda x, y: x)
    with pytest.raises(ValueError, match="one array in products along K"):
        lib.grouped_matmul(A.T, (A, A), OFFSETS, epilogue=lambda x, y: x)
