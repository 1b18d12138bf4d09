"""warp.load and warp.store: the layout of striped vectors, and partial runs.

Tests of prism/lib/warp: load, store.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

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
    warp,
)


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool))
def registers(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], otherwise: T @ grid[1]):
    """Each thread's items, one thread after the other."""
    t: int32 @ thread[1] = id()
    w: int32 @ thread[32] = id()
    items: T[ITEMS] @ thread[1]
    with partition(x, thread[32], offset=w * 32 * ITEMS) as run:
        warp.load(run, items, n - w * 32 * ITEMS, otherwise, WIDTH=WIDTH, VECTORIZED=VECTORIZED)
    with partition(y, thread[1], offset=t * ITEMS) as own:
        with group(thread[1]):
            for k in range(ITEMS):
                own[k] = items[k]


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool))
def copy(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], otherwise: T @ grid[1]):
    w: int32 @ thread[32] = id()
    items: T[ITEMS] @ thread[1]
    with partition(x, thread[32], offset=w * 32 * ITEMS) as source:
        with partition(y, thread[32], offset=w * 32 * ITEMS) as target:
            warp.load(source, items, n - w * 32 * ITEMS, otherwise, WIDTH=WIDTH, VECTORIZED=VECTORIZED)
            warp.store(target, items, n - w * 32 * ITEMS, WIDTH=WIDTH, VECTORIZED=VECTORIZED)


SHAPES = [("int32", 4, 8), ("uint8", 16, 16), ("int16", 1, 3), ("float64", 2, 6)]


def aligned(size: int, kind: str):
    room = np.zeros(size * np.dtype(kind).itemsize + 16, np.uint8)
    start = -room.__array_interface__["data"][0] % 16
    return room[start : start + size * np.dtype(kind).itemsize].view(kind)


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize(("kind", "width", "items"), SHAPES)
@pytest.mark.parametrize("missing", [0, 1, 37, 64])
def test_the_layout(kind: str, width: int, items: int, missing: int, vectorized: bool) -> None:
    full = 64 * items
    x, y = aligned(full - missing, kind), aligned(full, kind)
    x[:] = np.arange(1, full - missing + 1).astype(kind)
    template = {"ITEMS": items, "WIDTH": width, "VECTORIZED": vectorized}
    registers[1, 64](x, y, np.int32(full - missing), np.array(5, kind)[()], template=template, check=True)
    whole = np.concatenate([x, np.full(missing, 5, kind)]).reshape(2, items // width, 32, width)
    assert np.array_equal(y.reshape(2, 32, items // width, width), whole.transpose(0, 2, 1, 3))


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize(("kind", "width", "items"), SHAPES)
@pytest.mark.parametrize("missing", [0, 1, 37, 64])
def test_what_is_loaded_is_stored(kind: str, width: int, items: int, missing: int, vectorized: bool) -> None:
    full = 64 * items
    x, y = aligned(full, kind), aligned(full, kind)
    x[:] = np.arange(1, full + 1).astype(kind)
    template = {"ITEMS": items, "WIDTH": width, "VECTORIZED": vectorized}
    copy[1, 64](x, y, np.int32(full - missing), np.array(0, kind)[()], template=template, check=True)
    assert np.array_equal(y[: full - missing], x[: full - missing])
    assert not y[full - missing :].any()
