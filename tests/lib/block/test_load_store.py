"""block.load and block.store: tiles over several warps, whole and partial.

Tests of prism/lib/block: load, store.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    grid,
    group,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
)
from tests.lib.oracles import SCHEDULES


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool))
def copy(
    x: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    valid: int32 @ grid[1],
    stored: int32 @ grid[1],
    otherwise: T @ grid[1],
):
    with partition(y, block[1]) as target:
        with group(block[1]):
            items: T[ITEMS] @ thread[1]
            block.load(x, items, valid, otherwise, WIDTH=WIDTH, VECTORIZED=VECTORIZED)
            block.store(target, items, stored, WIDTH=WIDTH, VECTORIZED=VECTORIZED)


def aligned(size: int, kind: str):
    room = np.zeros(size * np.dtype(kind).itemsize + 16, np.uint8)
    start = -room.__array_interface__["data"][0] % 16
    return room[start : start + size * np.dtype(kind).itemsize].view(kind)


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize(
    ("kind", "width", "items"), [("int32", 4, 8), ("uint8", 16, 16), ("int16", 1, 3), ("float64", 2, 6)]
)
@pytest.mark.parametrize("threads", [32, 96, 128])
@pytest.mark.parametrize("part", [0.0, 0.4, 1.0])
def test_tiles(kind: str, width: int, items: int, threads: int, part: float, vectorized: bool) -> None:
    tile = threads * items
    valid = int(part * tile)
    x, y = aligned(valid, kind), aligned(tile, kind)
    x[:] = np.arange(1, valid + 1).astype(kind)
    template = {"ITEMS": items, "WIDTH": width, "VECTORIZED": vectorized}
    for schedule, seed in SCHEDULES:
        y[:] = 0
        arguments = (x, y, np.int32(valid), np.int32(tile), np.array(9, kind)[()])
        copy[1, threads](*arguments, template=template, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, np.concatenate([x, np.full(tile - valid, 9, kind)]))


@pytest.mark.parametrize("vectorized", [False, True])
def test_what_is_not_valid_is_not_stored(vectorized: bool) -> None:
    x, y = aligned(768, "int32"), aligned(768, "int32")
    x[:] = np.arange(1, 769)
    for stored in (-5, 0, 1, 255, 256, 257, 511, 768, 10000):
        y[:] = 0
        template = {"ITEMS": 8, "WIDTH": 4, "VECTORIZED": vectorized}
        copy[1, 96](x, y, np.int32(768), np.int32(stored), np.int32(0), template=template, check=True)
        assert np.array_equal(y, np.where(np.arange(768) < stored, x, 0))
