"""thread.load, load_once, load_strided, extent and thread.store: what they touch, and nothing beside it.

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
    float64,
    grid,
    group,
    id,
    int32,
    int64,
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


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), VECTORIZED=constexpr(bool), STEP=constexpr(int))
def others(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(float64) @ grid[1], n: int32 @ grid[1]):
    """All of `x`; and what is there of every `STEP`-th element from each thread's first on."""
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t * ITEMS) as same, partition(z, thread[1], offset=t * ITEMS) as strided:
        with group(thread[1]):
            items: T[ITEMS]
            thread.load_once(x, t * ITEMS, items, VECTORIZED=VECTORIZED)
            thread.store(same, items, ITEMS, VECTORIZED=False)
            numbers: float64[ITEMS]
            thread.load_strided(x, numbers, t, n, 0.5, STEP=STEP)
            thread.store(strided, numbers, ITEMS, VECTORIZED=False)


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


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize(("kind", "items"), [("int32", 4), ("uint8", 16), ("float64", 1)])
def test_it_loads_what_nobody_reads_again_and_at_a_stride(kind: str, items: int, vectorized: bool) -> None:
    x = aligned(np.arange(1, 8 * items + 1).astype(kind))
    for step, n in ((1, len(x)), (5, len(x) - 3), (7, 3), (2, 0)):
        y, z = np.zeros_like(x), np.zeros(len(x))
        template = {"ITEMS": items, "VECTORIZED": vectorized, "STEP": step}
        others[1, 8](x, y, z, n, template=template, check=True)
        places = np.arange(8)[:, None] + step * np.arange(items)
        assert np.array_equal(y, x)
        assert np.array_equal(z.reshape(8, items), np.where(places < n, x[np.minimum(places, len(x) - 1)], 0.5))


def test_an_address_that_is_not_aligned_is_no_vector() -> None:
    x, y, z = aligned(np.arange(40, dtype=np.int32))[1:33], np.zeros(32, np.int32), np.zeros(32)
    with pytest.raises(MisalignedError):
        others[1, 8](x, y, z, 32, template={"ITEMS": 4, "VECTORIZED": True, "STEP": 1}, check=True)


@prism("global")
@requires(grid[1], thread[1])
@template(TILE=constexpr(int))
def extents(y: ptr(int32) @ grid[1], n: int64 @ grid[1], first: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as mine, group(thread[1]):
        mine[0] = thread.extent(first + t, n, TILE=TILE)


@pytest.mark.parametrize("n", [0, 1, 99, 100, 101, 3199, 2**31 + 7, 2**40])
def test_extents(n: int) -> None:
    """Of tiles before the end, at it and behind it; positions need not fit in 32 bits."""
    first = min(max(n // 100 - 15, 0), 2**31 - 40)
    y = np.zeros(32, np.int32)
    extents[1, 32](y, n, first, template={"TILE": 100}, check=True)
    assert y.tolist() == [min(max(n - 100 * (first + t), 0), 100) for t in range(32)]
