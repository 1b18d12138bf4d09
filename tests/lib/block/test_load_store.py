"""block.load, block.load_tile and their stores: tiles over several warps, whole and partial; block.place.

Tests of prism/lib/block: load, store; prism/lib/thread/words.py.
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


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(
    TI=dtype, T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), REVERSE=constexpr(bool), SPARE=constexpr(bool),
    KEPT=constexpr(bool),
)  # fmt: skip
def convert(
    x: ptr(const(TI)) @ grid[1],
    y: ptr(TI) @ grid[1],
    held: ptr(T) @ grid[1],
    places: ptr(int32) @ grid[1],
    valid: int32 @ grid[1],
    before: int32 @ grid[1],
    skew: int32 @ grid[1],
    otherwise: T @ grid[1],
):
    """What a tile's elements become in registers, where each of them is, and the tile again."""
    t: int32 @ thread[1] = id()
    with partition(held, thread[1], offset=t * ITEMS) as own, partition(places, thread[1], offset=t * ITEMS) as where:
        with partition(y, block[1]) as target, group(block[1]):
            items: T[ITEMS] @ thread[1]
            block.load_tile(x, items, valid, otherwise, skew, before, WIDTH=WIDTH, REVERSE=REVERSE, SPARE=SPARE)
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            block.store_tile(target, items, valid, skew == 0, before, WIDTH=WIDTH, REVERSE=REVERSE, KEPT=KEPT)
            with group(thread[1]):
                for k in range(ITEMS):
                    own[k] = items[k]
                    where[k] = at + k // WIDTH * 32 * WIDTH + k % WIDTH


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("given", "held", "width", "items"),
    [("int32", "int32", 4, 8), ("uint8", "int64", 16, 16), ("int16", "float64", 8, 16), ("float64", "float64", 1, 3)],
)
@pytest.mark.parametrize("spare", [False, True])
def test_tiles_are_converted_in_either_direction(
    given: str, held: str, width: int, items: int, spare: bool, reverse: bool
) -> None:
    tile, threads = 64 * items, 64
    for valid, before, skew in [
        (tile, 0, 0),
        (tile - 5, 0, 0),
        (tile, 3, 0),
        (7, 2, 0),
        (0, 0, 0),
        (tile, 0, 1),
        (tile - 1, 1, -1),
    ]:
        before, small = min(before, width - 1), np.dtype(given).itemsize <= 2 and width * np.dtype(given).itemsize == 16
        skew = min(skew, width - 1) if small else min(skew, 0)
        whole = aligned(tile + 2 * width, given)
        whole[:] = np.arange(1, len(whole) + 1) % 100
        x, y = whole[max(skew, 0) :][:tile], aligned(tile, given)
        registers, places = np.zeros(tile, held), np.zeros(tile, np.int32)
        template = {"T": held, "ITEMS": items, "WIDTH": width, "REVERSE": reverse, "SPARE": spare, "KEPT": spare}
        arguments = (x, y, registers, places, np.int32(valid), np.int32(before), np.int32(skew), np.array(9, held)[()])
        convert[1, threads](*arguments, template=template, check=True)
        there = (before <= np.arange(tile)) & (np.arange(tile) < valid)
        wanted = np.where(there, x, 9).astype(held)
        assert np.array_equal(registers, (wanted[::-1] if reverse else wanted)[places])
        assert np.array_equal(np.sort(places), np.arange(tile))
        assert np.array_equal(y, np.where(there, x, 0))


@prism("global")
@requires(grid[1], block[1], thread[32])
def prefetched(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], offset=b * 100) as target, group(block[1]):
        items: int32[4] @ thread[1]
        block.prefetch_tile(x, b + 1, n, TILE=100)
        with partition(x, block[1], offset=b * 100) as source:
            block.load(source, items, thread.extent(b, n, TILE=100), 0, WIDTH=1, VECTORIZED=False)
        block.store(target, items, thread.extent(b, n, TILE=100), WIDTH=1, VECTORIZED=False)


@pytest.mark.parametrize("n", [0, 1, 100, 250, 300])
def test_a_prefetch_of_a_tile_changes_nothing(n: int) -> None:
    """And reads nothing beyond the array: the machine would say so. One thread asks for what there is of the tile."""
    x, y = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    prefetched[3, 32](x, y, n, check=True)
    assert np.array_equal(x, y)
    text = package.compile(prefetched, {}).cuda
    assert text.count("px_prefetch(") >= 2 and text.index("prism_prefetch_tile(x_") < text.index("px_follow();  //")
