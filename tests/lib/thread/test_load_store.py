"""thread.load and thread.store: what they touch, and nothing beside it.

Tests of prism/lib/thread: load, store.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

from prism.interpret import BoundsError, MisalignedError
from prism.lang import (
    const,
    constexpr,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
)


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), VECTORIZED=constexpr(bool))
def copy(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], otherwise: T @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(x, thread[1], offset=t * ITEMS) as source:
        with partition(y, thread[1], offset=t * ITEMS) as target:
            with group(thread[1]):
                items: T[ITEMS]
                thread.load(source, items, n - t * ITEMS, otherwise, VECTORIZED=VECTORIZED)
                thread.store(target, items, n - t * ITEMS, VECTORIZED=VECTORIZED)


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), VECTORIZED=constexpr(bool))
def padded(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], otherwise: T @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(x, thread[1], offset=t * ITEMS) as source:
        with partition(y, thread[1], offset=t * ITEMS) as target:
            with group(thread[1]):
                items: T[ITEMS]
                thread.load(source, items, n - t * ITEMS, otherwise, VECTORIZED=VECTORIZED)
                thread.store(target, items, ITEMS, VECTORIZED=VECTORIZED)


def aligned(array):
    """A copy that starts at a multiple of 16 bytes."""
    room = np.zeros(array.nbytes + 16, np.uint8)
    start = -room.__array_interface__["data"][0] % 16
    found = room[start : start + array.nbytes].view(array.dtype)
    found[:] = array
    return found


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize(("kind", "items"), [("int32", 4), ("uint8", 16), ("int16", 2), ("float64", 1)])
@pytest.mark.parametrize("missing", [0, 1, 2, 5])
def test_it_copies_what_is_valid(kind: str, items: int, missing: int, vectorized: bool) -> None:
    size = 8 * items - missing
    x = aligned(np.arange(1, size + 1).astype(kind))
    y = aligned(np.zeros(8 * items, kind))
    copy[1, 8](
        x, y, np.int32(size), np.array(7, kind)[()], template={"ITEMS": items, "VECTORIZED": vectorized}, check=True
    )
    assert np.array_equal(y[:size], x)
    assert not y[size:].any()


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("size", [0, 1, 4, 7, 13, 32])
def test_the_rest_is_filled(size: int, vectorized: bool) -> None:
    x, y = aligned(np.arange(1, size + 1, dtype=np.int32)), aligned(np.zeros(32, np.int32))
    padded[1, 8](x, y, np.int32(size), np.int32(-3), template={"ITEMS": 4, "VECTORIZED": vectorized}, check=True)
    assert np.array_equal(y, [*x, *[-3] * (32 - size)])


def test_too_large_a_count_is_out_of_bounds() -> None:
    x, y = np.arange(31, dtype=np.int32), np.zeros(32, np.int32)
    with pytest.raises(BoundsError, match="`x`|`source`|31"):
        copy[1, 8](x, y, np.int32(32), np.int32(0), template={"ITEMS": 4, "VECTORIZED": False}, check=True)


def test_vectors_must_be_aligned() -> None:
    x, y = aligned(np.arange(33, dtype=np.int32))[1:], aligned(np.zeros(32, np.int32))
    with pytest.raises(MisalignedError):
        copy[1, 8](x, y, np.int32(32), np.int32(0), template={"ITEMS": 4, "VECTORIZED": True}, check=True)
