"""warp.rotate, warp.shift_up and warp.shift_down, against NumPy.

Tests of prism/lib/warp/shift.py.
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
@template(T=dtype)
def rotated(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], distance: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    value: T @ thread[1] = x[i]
    other: T @ thread[1] = warp.rotate(value, distance)
    with partition(y, thread[1], offset=i) as mine:
        with group(thread[1]):
            mine[0] = other


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), UP=constexpr(bool))
def shifted(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], ends: ptr(T) @ grid[1], edge: T @ grid[1]):
    i: int32 @ thread[1] = id()
    first: int32 @ thread[32] = 32 * ITEMS * id()
    items: T[ITEMS] @ thread[1]
    end: T @ thread[32] = edge
    with partition(x, thread[32], offset=first) as source:
        warp.load(source, items, 32 * ITEMS, edge, WIDTH=WIDTH, VECTORIZED=False)
    if UP:
        end = warp.shift_up(items, edge, WIDTH=WIDTH)
    else:
        end = warp.shift_down(items, edge, WIDTH=WIDTH)
    with partition(y, thread[32], offset=first) as target:
        warp.store(target, items, 32 * ITEMS, WIDTH=WIDTH, VECTORIZED=False)
    with partition(ends, thread[1], offset=i) as mine:
        with group(thread[1]):
            mine[0] = end


@pytest.mark.parametrize("distance", [0, 1, 5, 31, 32, 33, -1, -31, -64])
def test_rotate(distance: int) -> None:
    x = np.random.default_rng(0).integers(0, 99, 64, dtype=np.int32)
    y = np.zeros_like(x)
    rotated[1, 64](x, y, distance, check=True)
    assert np.array_equal(y.reshape(2, 32), np.roll(x.reshape(2, 32), -distance, axis=1))


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("kind", ["int32", "float64", "float16", "uint8"])
@pytest.mark.parametrize(("items", "width"), [(1, 1), (4, 4), (6, 2), (3, 1)])
def test_shift(items: int, width: int, kind: str, up: bool) -> None:
    x = np.random.default_rng(0).integers(0, 99, 64 * items).astype(kind)
    y, ends = np.zeros_like(x), np.zeros(64, kind)
    template = {"ITEMS": items, "WIDTH": width, "UP": up}
    shifted[1, 64](x, y, ends, np.array(7, kind)[()], template=template, check=True)
    for run, found, end in zip(x.reshape(2, -1), y.reshape(2, -1), ends.reshape(2, 32), strict=True):
        assert np.array_equal(found, [7, *run[:-1]] if up else [*run[1:], 7])
        assert (end == (run[-1] if up else run[0])).all()
