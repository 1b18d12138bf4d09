"""Kernels with rings, asynchronous copies, wgmma and clusters, with arguments and what NumPy makes of them.

The reference machine's tests and the GPU's share them.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from examples.paper.hgemm import hgemm
from prism.lang import (
    CUtensorMap, async_, attr, bf16, block, bulk_load, claim, const, constexpr, count, cp_async, dtype, float32, fragment, grid,
    group, id, int32, one, partition, prism, ptr, requires, roles, row, column, set_registers, shared, template, thread,
    tma_load, tma_store, warp, warpgroup, wgmma,
)  # fmt: skip
from prism.lang.shorts import bf16_bits, bf16_values
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, INT8, INT32, UINT8
from tests.examples.programs import Launch, aligned

TILE = 128


# -- rings ------------------------------------------------------------------------------------------------------------


@prism("global")
@template(COPIES=constexpr(int))
@requires(grid[1], block[1], thread[128])
def in_turn(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], tiles: int32 @ grid[1]):
    """All threads copy a tile by `cp.async`, then each takes its element from the other end."""
    first: int32 @ block[1] = id() * tiles * TILE
    with partition(y, block[1], offset=id() * TILE) as out, group(block[1]):
        a: shared(int32[TILE], ring=COPIES) @ block[1]
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 1
        for k in range(0, tiles):
            with partition(a, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
                cp_async(place[0], x[first + k * TILE + t], bytes=4)
            with partition(a, block[1]) as tile, group(thread[1]):
                total = 3 * total + tile[TILE - 1 - t]
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = total


@prism("global")
@requires(grid[1], block[1], thread[128])
def two_buffers(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], pairs: int32 @ grid[1]):
    """The same with two plain objects: a tile is copied while the other one is read."""
    first: int32 @ block[1] = id() * 2 * pairs * TILE
    with partition(y, block[1], offset=id() * TILE) as out, group(block[1]):
        a: shared(int32[TILE]) @ block[1]
        b: shared(int32[TILE]) @ block[1]
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 1
        with partition(a, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
            cp_async(place[0], x[first + t], bytes=4)
        for k in range(0, pairs):
            with partition(b, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
                cp_async(place[0], x[first + (2 * k + 1) * TILE + t], bytes=4)
            with group(thread[1]):
                total = 3 * total + a[TILE - 1 - t]
            with partition(a, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
                if k + 1 < pairs:
                    cp_async(place[0], x[first + (2 * k + 2) * TILE + t], bytes=4)
            with group(thread[1]):
                total = 3 * total + b[TILE - 1 - t]
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = total


@prism("global")
@template(COPIES=constexpr(int))
@attr("__launch_bounds__(160)")
@requires(grid[1], block[1], thread[160])
def piped(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], tiles: int32 @ grid[1]):
    """One thread asks for tiles, four warps read them."""
    first: int32 @ block[1] = id() * tiles * TILE
    with partition(y, block[1], offset=id() * TILE) as out, group(block[1]):
        a: shared(int32[TILE], ring=COPIES) @ block[1]
        readers, loader = roles(warp, 4, 1)
        total: int32 @ thread[1] = 1
        for k in range(0, tiles):
            with claim(a, loader) as tile, one(thread):
                bulk_load(tile, x[first + k * TILE])
            with claim(a, readers) as tile:
                t: int32 @ thread[1] = id()
                with group(thread[1]):
                    total = 3 * total + tile[TILE - 1 - t]
        with claim(out, readers) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                mine[0] = total


def folded(x: Any, blocks: int, tiles: int) -> Any:
    """What each thread makes of its elements of its block's tiles, in int32."""
    total = np.ones((blocks, TILE), np.uint32)
    for k in range(tiles):
        total = total * np.uint32(3) + x.view(np.uint32).reshape(blocks, tiles, TILE)[:, k, ::-1]
    return total.ravel().view(np.int32)


def ring(kernel: Any, blocks: int, tiles: int, threads: int = TILE, **template: int) -> Launch:
    x = aligned(np.random.default_rng(tiles).integers(-(2**31), 2**31, blocks * tiles * TILE).astype(np.int32))
    many = tiles // 2 if kernel is two_buffers else tiles
    arguments = (x, np.zeros(blocks * TILE, np.int32), np.int32(many))
    return Launch(kernel, (blocks, threads), arguments, {1: folded(x, blocks, tiles)}, template)


# -- tensor copies ----------------------------------------------------------------------------------------------------


@prism("global")
@template(T=dtype, R=constexpr(int), C=constexpr(int), SWIZZLE=constexpr(int), COPIES=constexpr(int))
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def transposed_tiles(
    x: const(CUtensorMap(T, R, C, swizzle=SWIZZLE)) @ grid[1], y: CUtensorMap(T, R, C, swizzle=SWIZZLE) @ grid[1],
    plain: ptr(T) @ grid[1], tiles: int32 @ grid[1], columns: int32 @ grid[1],
):
    """Tile k of a column of tiles: copied in, doubled in place, copied out below; a plain copy says where elements are."""
    with partition(plain, block[1], offset=id() * tiles * R * C) as mine, group(block[1]):
        b: int32 @ block[1] = id()
        a: shared(T[R, C], ring=COPIES, swizzle=SWIZZLE) @ block[1]
        t: int32 @ thread[1] = id()
        for k in range(0, tiles):
            with claim(a, thread[1]) as tile:
                with one(thread):
                    tma_load(tile, x[k * R, b * C])
            with partition(mine, thread[1], offset=k * R * C) as part:
                with partition(a, thread[1], lambda i, j: (i, j)) as tile:
                    with group(thread[1]):
                        for i in range(t, R * C, 64):
                            tile[i / C, i % C] = tile[i / C, i % C] + tile[i / C, i % C]
                            part[i] = tile[i / C, i % C]
            with claim(a, thread[1]) as tile:
                with one(thread):
                    tma_store(y[k * R, b * C], tile)
