"""thread.lower_bound, thread.upper_bound, thread.merge_path, and thread.search after block.fill_guide, against NumPy.

Tests of prism/lib/thread/search.py; prism/lib/block/search.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    float32,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
    uint32,
)
from prism.lib.thread import operators


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype)
def bounds(x: ptr(const(T)) @ grid[1], values: ptr(const(T)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1]) as run, partition(y, thread[1], 2 * i) as mine, group(thread[1]):
        value: T = values[i]
        mine[0] = thread.lower_bound(run, n, value, LESS=operators.less)
        mine[1] = thread.upper_bound(run, n, value, LESS=operators.less)


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype)
def paths(
    a: ptr(const(T)) @ grid[1],
    b: ptr(const(T)) @ grid[1],
    y: ptr(int32) @ grid[1],
    n: int32 @ grid[1],
    m: int32 @ grid[1],
):
    i: int32 @ thread[1] = id()
    with partition(a, thread[1]) as left, partition(b, thread[1]) as right, partition(y, thread[1], i) as mine:
        with group(thread[1]):
            mine[0] = thread.merge_path(left, n, right, m, i, LESS=operators.less)


@pytest.mark.parametrize("kind", ["int32", "float32", "uint8", "float16"])
@pytest.mark.parametrize("size", [0, 1, 2, 31, 100])
def test_bounds(size: int, kind: str) -> None:
    random = np.random.default_rng(0)
    x = np.sort(random.integers(1, 30, size)).astype(kind)
    values = np.arange(32).astype(kind)
    y = np.zeros((32, 2), np.int32)
    bounds[1, 32](x, values, y.reshape(-1), size, check=True)
    assert np.array_equal(y[:, 0], np.searchsorted(x, values, "left"))
    assert np.array_equal(y[:, 1], np.searchsorted(x, values, "right"))


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 9), (9, 0), (1, 30), (20, 17)])
def test_merge_path(n: int, m: int) -> None:
    random = np.random.default_rng(1)
    a, b = (np.sort(random.integers(0, 9, size, dtype=np.int32)) for size in (n, m))
    order = np.argsort(np.concatenate([a, b]), kind="stable")
    y = np.zeros(n + m + 1, np.int32)
    paths[1, n + m + 1](a, b, y, n, m, check=True)
    assert np.array_equal(y, [0, *np.cumsum(order < n)])


def test_they_compile() -> None:
    assert package.compile(bounds, {"T": "float64"}).cubin and package.compile(paths, {"T": "int8"}).cubin


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(T=dtype, CELLS=constexpr(int))
def searched(x: ptr(const(T)) @ grid[1], values: ptr(const(T)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1]) as target, group(block[1]):
        t: int32 @ thread[1] = id()
        guide: shared(uint32[CELLS])
        offset: float32 = 0
        scale: float32 = 0
        offset, scale = block.fill_guide(x, n, guide, CELLS=CELLS)
        ranks: int32[2] @ thread[1]
        with group(thread[1]):
            mine: T[2]
            for k in range(2):
                mine[k] = values[k * 64 + t]
            thread.search(x, guide, mine, ranks, offset, scale, CELLS=CELLS)
        block.store_striped(target, ranks, 128)


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("float64", np.arange(100.0)),
        ("float32", [7]),
        ("uint8", [0, 3, 3, 3, 200, 255]),
        ("float32", [-np.inf, -1, 5, 5, 1e30, np.inf]),
        ("int64", [-(2**63), -5, 0, 2**62, 2**63 - 1]),
        ("float64", [-1e300, 0.5, 1e300]),
        ("float64", np.cumsum(2.0 ** -np.arange(60))),
        ("int32", np.repeat(9, 50)),
    ],
)
def test_search(kind: str, table) -> None:
    random = np.random.default_rng(0)
    x = np.sort(np.array(table, kind))
    beside = np.concatenate([x, random.choice(x, 128)])[:128]
    way = random.integers(0, 3, 128)
    limit = np.iinfo(kind) if x.dtype.kind in "iu" else None
    if limit:
        values = np.where((way == 1) & (beside < limit.max), beside + x.dtype.type(1), beside)
        values = np.where((way == 2) & (beside > limit.min), values - x.dtype.type(1), values).astype(kind)
    else:
        values = np.where(
            way == 1, np.nextafter(beside, np.inf), np.where(way == 2, np.nextafter(beside, -np.inf), beside)
        )
        values[:3] = np.nan, -np.inf, np.inf
    values, y = values.astype(kind), np.zeros(128, np.int32)
    for cells in (1, 16, 200):
        with np.errstate(all="ignore"):
            searched[1, 64](x, values, y, x.size, template={"CELLS": cells}, check=True)
        wanted = np.searchsorted(x, values, "right")
        wanted[values != values] = 0
        assert np.array_equal(y, wanted)
