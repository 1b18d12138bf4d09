"""Kernels in which the blocks of a cluster store into each other's rings, with what NumPy makes of them: see `Launch`."""

# ruff: noqa: F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

import numpy as np

from prism.lang import (
    attr,
    block,
    claim,
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
    roles,
    shared,
    st_async,
    template,
    thread,
    warp,
)  # fmt: skip
from tests.examples.programs import Launch

TILE, WEIGHT = 128, 3


@prism("global")
@template(T=dtype, COPIES=constexpr(int), SHIFT=constexpr(int), BLOCKS=constexpr(int))
@attr("__launch_bounds__(192)")
@requires(grid[1], block[BLOCKS], thread[192])
def passed_round(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], tiles: int32 @ grid[1]):
    """Two warps of each block send its tiles on to another block; four add up what comes, backwards."""
    b: int32 @ block[1] = id()
    with partition(y, block[1], offset=id() * TILE) as out, group(block[BLOCKS]):
        with group(block[1]):
            ring: shared(T[TILE], ring=COPIES) @ block[1]
            readers, senders = roles(warp, 4, 2)
            total: T @ thread[1] = 1
            for k in range(0, tiles):
                with claim(ring, senders) as tile:
                    t: int32 @ thread[1] = id()
                    with partition(tile, thread[1], offset=2 * t) as mine, group(thread[1]):
                        for j in range(2):
                            st_async(mine[j], x[(b * tiles + k) * TILE + 2 * t + j], shift=SHIFT)
                with claim(ring, readers) as tile:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        total = WEIGHT * total + tile[TILE - 1 - t]
            with claim(out, readers) as part:
                t: int32 @ thread[1] = id()
                with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                    mine[0] = total


def sent(kind: str, tiles: int, copies: int, blocks: int = 2, shift: int = 1, clusters: int = 1) -> Launch:
    """Tiles of each block of each cluster, `shift` blocks on."""
    n = clusters * blocks
    x = np.random.default_rng(tiles + n).integers(0, 100, n * tiles * TILE).astype(kind)
    found = np.ones((clusters, blocks, TILE), kind)
    for tile in x.reshape(clusters, blocks, tiles, TILE).transpose(2, 0, 1, 3):
        found = (WEIGHT * found + np.roll(tile, shift, axis=1)[:, :, ::-1]).astype(kind)
    template = {"T": kind, "COPIES": copies, "SHIFT": shift, "BLOCKS": blocks}
    arguments = (x, np.zeros(n * TILE, kind), np.int32(tiles))
    return Launch(passed_round, (n, 192), arguments, {1: found.ravel()}, template)


@prism("global")
@template(T=dtype, COPIES=constexpr(int), BLOCKS=constexpr(int))
@attr("__launch_bounds__(192)")
@requires(grid[1], block[BLOCKS], thread[192])
def dealt(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], tiles: int32 @ grid[1], base: int32 @ grid[1]):
    """As `passed_round`; how far a value goes depends on `base`, on the round, on the thread and on which of its two it is."""
    b: int32 @ block[1] = id()
    with partition(y, block[1], offset=id() * TILE) as out, group(block[BLOCKS]):
        with group(block[1]):
            ring: shared(T[TILE], ring=COPIES) @ block[1]
            readers, senders = roles(warp, 4, 2)
            total: T @ thread[1] = 1
            for k in range(0, tiles):
                with claim(ring, senders) as tile:
                    t: int32 @ thread[1] = id()
                    with partition(tile, thread[1], offset=2 * t) as mine, group(thread[1]):
                        for j in range(2):
                            st_async(mine[j], x[(b * tiles + k) * TILE + 2 * t + j], shift=base + k * (t // 16) + j)
                with claim(ring, readers) as tile:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        total = WEIGHT * total + tile[TILE - 1 - t]
            with claim(out, readers) as part:
                t: int32 @ thread[1] = id()
                with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                    mine[0] = total


def shuffled(kind: str, tiles: int, copies: int, blocks: int, base: int, clusters: int = 1) -> Launch:
    """Tiles of each block of each cluster, each value by a number of blocks on that its place and its round decide."""
    n, at = clusters * blocks, np.arange(TILE)
    x = np.random.default_rng(tiles + n).integers(0, 100, n * tiles * TILE).astype(kind)
    found = np.ones((clusters, blocks, TILE), kind)
    for k, tile in enumerate(x.reshape(clusters, blocks, tiles, TILE).transpose(2, 0, 1, 3)):
        source = (np.arange(blocks)[:, None] - (base + k * (at // 2 // 16) + at % 2)) % blocks
        found = (WEIGHT * found + tile[:, source, at][:, :, ::-1]).astype(kind)
    template = {"T": kind, "COPIES": copies, "BLOCKS": blocks}
    arguments = (x, np.zeros(n * TILE, kind), np.int32(tiles), np.int32(base))
    return Launch(dealt, (n, 192), arguments, {1: found.ravel()}, template)
