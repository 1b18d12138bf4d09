"""argmin, argmax and arg_reduce, of a warp and of a block: as NumPy's, ties and NaN included.

Tests of prism/lib/block/arg.py; prism/lib/warp/arg.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import itertools

import numpy as np
import pytest

import prism as package
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
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
    warp,
)
from tests.lib.oracles import SCHEDULES


@prism("device")
@requires(thread[1])
def nearer_to_ten(a: int32 @ thread[1], b: int32 @ thread[1]) -> bool @ thread[1]:
    return abs(a - 10) < abs(b - 10)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, LARGEST=constexpr(bool))
def places(x: ptr(const(T)) @ grid[1], y: ptr(int64) @ grid[1], values: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 2 * i) as own, partition(values, thread[1], 2 * i) as mine, group(block[1]):
        value: T @ thread[1] = x[i]
        of_block: T[1] @ block[1]
        of_warp: T[1] @ thread[32]
        b: int64 @ block[1] = 0
        w: int64 @ thread[32] = 0
        if LARGEST:
            b = block.argmax(value, int64(i), of_block)
            w = warp.argmax(value, int64(i), of_warp)
        else:
            b = block.argmin(value, int64(i), of_block)
            w = warp.argmin(value, int64(i), of_warp)
        with group(thread[1]):
            own[0] = b
            own[1] = w
            mine[0] = of_block[0]
            mine[1] = of_warp[0]


@prism("global")
@requires(grid[1], block[1], thread[32])
def nearest(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as own, group(block[1]):
        value: int32 @ thread[1] = x[i]
        best: int32[1] @ block[1]
        # Indices in any order: the least of those of the best values is found.
        place: int32 @ block[1] = block.arg_reduce(value, 1000 - i, best, BEFORE=nearer_to_ten)
        with group(thread[1]):
            own[0] = 10000 * best[0] + place


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        *itertools.product(["int32", "uint8", "float32", "float16", "int64"], ["ties", "equal"]),
        *itertools.product(["float16", "float32", "float64"], ["nan"]),
    ],
)
@pytest.mark.parametrize("threads", [32, 96, 256])
def test_as_numpy(threads: int, data: str, kind: str, largest: bool) -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 9, threads).astype(kind)
    if data == "equal":
        x[:] = 5
    if data == "nan":
        x[threads // 2 :: 7] = np.nan
    find = np.argmax if largest else np.argmin
    for schedule, seed in SCHEDULES[:3]:
        y, values = np.zeros((threads, 2), np.int64), np.zeros((threads, 2), kind)
        places[1, threads](
            x,
            y.reshape(-1),
            values.reshape(-1),
            template={"LARGEST": largest},
            check=True,
            schedule=schedule,
            seed=seed,
        )
        assert (y[:, 0] == find(x)).all()
        assert np.array_equal(values[:, 0], x[y[:, 0]], equal_nan=np.dtype(kind).kind == "f")
        for w in range(0, threads, 32):
            assert (y[w : w + 32, 1] == w + find(x[w : w + 32])).all()
        assert np.array_equal(values[:, 1], x[y[:, 1]], equal_nan=np.dtype(kind).kind == "f")


def test_any_order_of_ones_own() -> None:
    x = np.random.default_rng(0).integers(-50, 50, 96, dtype=np.int32)
    x[[10, 50, 80]] = 9, 11, 9
    y = np.zeros_like(x)
    nearest[1, 96](x, y, check=True)
    best = np.abs(x - 10).min()
    last = max(i for i in range(96) if abs(x[i] - 10) == best)  # the least index is the last thread's
    assert (y == 10000 * x[last] + 1000 - last).all()


def test_they_compile() -> None:
    assert package.compile(places, {"T": "float16", "LARGEST": True}).cubin
    assert package.compile(nearest).cubin
