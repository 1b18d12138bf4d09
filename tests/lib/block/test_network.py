"""A block's network: one warp and many, elements of all sizes, extreme data, and equal elements of which none is lost.

Tests of prism/lib/block: sort.
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
    function,
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
from prism.lib.thread import operators
from tests.lib.oracles import SCHEDULES
from tests.lib.warp.test_sort import by_high_word


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function, TOTAL=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def sorted_tile(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, group(block[1]):
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[i * ITEMS + k]
        block.sort_network(items, THREADS=THREADS, LESS=LESS, TOTAL=TOTAL)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


@pytest.mark.parametrize(("threads", "items", "kind"), [(32, 4, "uint32"), (64, 1, "uint64"), (256, 2, "float32")])
def test_a_tile_is_sorted(threads: int, items: int, kind: str) -> None:
    x = np.random.default_rng(0).integers(0, 300, threads * items).astype(kind)
    template = {"ITEMS": items, "THREADS": threads, "LESS": operators.less, "TOTAL": True}
    for schedule, seed in SCHEDULES[:3]:
        y = np.zeros_like(x)
        sorted_tile[1, threads](x, y, template=template, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, np.sort(x))


@pytest.mark.parametrize("kind", ["sorted", "reversed", "equal", "two"])
def test_extreme_tiles(kind: str) -> None:
    x = np.arange(512, dtype=np.uint32)
    x = {"sorted": x, "reversed": x[::-1].copy(), "equal": 0 * x, "two": x % 2}[kind]
    y = np.zeros_like(x)
    template = {"ITEMS": 4, "THREADS": 128, "LESS": operators.less, "TOTAL": True}
    sorted_tile[1, 128](x, y, template=template, check=True)
    assert np.array_equal(y, np.sort(x))


def test_equal_elements_are_all_kept() -> None:
    x = np.random.default_rng(0).integers(0, 5, 256, dtype=np.uint64) << np.uint64(32) | np.arange(256, dtype=np.uint64)
    y = np.zeros_like(x)
    template = {"ITEMS": 2, "THREADS": 128, "LESS": by_high_word, "TOTAL": False}
    sorted_tile[1, 128](x, y, template=template, check=True)
    assert np.array_equal(np.sort(x), np.sort(y)) and (np.diff((y >> np.uint64(32)).astype(np.int64)) >= 0).all()


def test_it_compiles() -> None:
    template = {"T": "uint64", "ITEMS": 16, "THREADS": 256, "LESS": operators.less, "TOTAL": True}
    assert package.compile(sorted_tile, template, arch="sm_90a").spills == 0
