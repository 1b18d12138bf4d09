"""Kernels in which the same threads fill a ring and use it, with arguments and what NumPy makes of them.

The reference machine's tests and the GPU's share them.
"""

# ruff: noqa: F821, I001 - kernels declare shared memory and registers without a value

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang import (
    async_, attr, bf16, block, bulk_load, claim, column, const, constexpr, count, cp_async, dtype, float32, fragment, grid, group,
    id, int32, one, partition, prism, ptr, requires, roles, row, shared, template, thread, uint32, warp, warpgroup, wgmma,
)  # fmt: skip
from prism.lang.types.shorts import bf16_bits, bf16_values
from tests.examples.asynchronous import TILE
from tests.examples.programs import Launch, aligned


@prism("global")
@template(COPIES=constexpr(int))
@requires(grid[1], block[1], thread[128])
def edges(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], rows: int32 @ grid[1], n: int32 @ grid[1]):
    """Row after row, a tile and its mirror image at a time; beyond the row's end are zeros."""
    with partition(y, block[1], offset=id() * TILE) as out, group(block[1]):
        a: shared(int32[TILE], ring=COPIES)
        b: shared(int32[TILE], ring=COPIES)
        t: int32 @ thread[1] = id()
        total: uint32 @ thread[1] = 1
        for r in range(0, rows):
            for k in range(0, n, TILE):
                first: int32 @ block[1] = r * n + k
                with partition(a, thread[1], offset=t) as mine, group(thread[1]):
                    if k + t < n:
                        cp_async(mine[0], x[first + t], bytes=4)
                    else:
                        mine[0] = 0
                with partition(b, thread[1], offset=TILE - 1 - t) as mine, group(thread[1]):
                    if k + t < n:
                        cp_async(mine[0], x[first + t], bytes=4)
                    else:
                        mine[0] = 0
                with partition(a, block[1]) as one_way, partition(b, block[1]) as other_way, group(thread[1]):
                    total = 3 * total + uint32(one_way[(t + 1) % TILE]) - uint32(other_way[t]) + uint32(first)
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = int32(total)


def edges_of(rows: int, n: int, copies: int) -> Launch:
    x = aligned(np.random.default_rng(n).integers(-(2**31), 2**31, max(1, rows * n)).astype(np.int32))
    total = np.ones(TILE, np.uint32)
    for r in range(rows):
        for k in range(0, n, TILE):
            tile = np.zeros(TILE, np.uint32)
            tile[: n - k] = x[r * n + k : r * n + n].view(np.uint32)[:TILE]
            total = total * np.uint32(3) + np.roll(tile, -1) - tile[::-1] + np.uint32(r * n + k)
    arguments = (x, np.zeros(TILE, np.int32), np.int32(rows), np.int32(n))
    return Launch(edges, (1, 128), arguments, {1: total.view(np.int32)}, {"COPIES": copies})


@prism("global")
@template(COPIES=constexpr(int), T=dtype, STEP=constexpr(int))
@requires(grid[1], block[1], thread[128])
def between(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], first: T @ grid[1], last: T @ grid[1]):
    """Tiles `first`, `first` + STEP, ... before `last`; the scope that opens the source holds both stations."""
    with partition(y, block[1], offset=id() * TILE) as out, group(block[1]):
        a: shared(int32[TILE], ring=COPIES)
        t: int32 @ thread[1] = id()
        total: uint32 @ thread[1] = 1
        for k in range(first, last, STEP):
            with partition(x, block[1], offset=int32(k) * TILE) as source, group(block[1]):
                with partition(a, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
                    cp_async(place[0], source[t], bytes=4)
                with partition(a, block[1]) as tile, group(thread[1]):
                    total = 3 * total + uint32(tile[TILE - 1 - t])
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = int32(total)


def between_of(first: int, last: int, step: int, copies: int, scalar: Any = np.int32) -> Launch:
    x = aligned(np.random.default_rng(first).integers(-(2**31), 2**31, 64 * TILE).astype(np.int32))
    total = np.ones(TILE, np.uint32)
    for k in range(first, last, step):
        total = total * np.uint32(3) + x.view(np.uint32).reshape(-1, TILE)[k, ::-1]
    arguments = (x, np.zeros(TILE, np.int32), scalar(first), scalar(last))
    template = {"COPIES": copies, "T": scalar, "STEP": step}
    return Launch(between, (1, 128), arguments, {1: total.view(np.int32)}, template)


@prism("global")
@template(COPIES=constexpr(int))
@requires(grid[1], block[1], thread[128])
def asked(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], tiles: int32 @ grid[1]):
    """One of the threads that read the tiles asks for them."""
    first: int32 @ block[1] = id() * tiles * TILE
    with partition(y, block[1], offset=id() * TILE) as out, group(block[1]):
        a: shared(int32[TILE], ring=COPIES)
        t: int32 @ thread[1] = id()
        total: uint32 @ thread[1] = 1
        for k in range(0, tiles):
            with claim(a, thread[1]) as tile, one(thread):
                bulk_load(tile, x[first + k * TILE])
            with partition(a, block[1]) as tile, group(thread[1]):
                total = 3 * total + uint32(tile[TILE - 1 - t])
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = int32(total)


@prism("global")
@template(COPIES=constexpr(int), DEEP=constexpr(int))
@attr("__launch_bounds__(224)")
@requires(grid[1], block[1], thread[224])
def teams(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], tiles: int32 @ grid[1]):
    """Four warps fold tiles that they copy themselves, two more one tile in two, for themselves; a seventh has nothing to do."""
    with partition(y, block[1], offset=id() * 192) as out, group(block[1]):
        a: shared(int32[TILE], ring=COPIES)
        b: shared(int32[64], ring=DEEP)
        many, few = roles(warp, 4, 2)
        total: uint32 @ thread[1] = 1
        for k in range(0, tiles):
            with claim(a, many) as tile:
                t: int32 @ thread[1] = id()
                with partition(tile, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
                    cp_async(place[0], x[k * TILE + t], bytes=4)
            with claim(a, many) as tile:
                t: int32 @ thread[1] = id()
                with group(thread[1]):
                    total = 3 * total + uint32(tile[TILE - 1 - t])
            with claim(b, few) as tile:
                t: int32 @ thread[1] = id()
                with partition(tile, thread[1], offset=t) as mine, group(thread[1]):
                    if k % 2 == 0:
                        cp_async(mine[0], x[k * TILE + t], bytes=4)
                    else:
                        mine[0] = k
            with claim(b, few) as tile:
                t: int32 @ thread[1] = id()
                with group(thread[1]):
                    total = 3 * total + uint32(tile[63 - t])
        with claim(out, many) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                mine[0] = int32(total)
        with claim(out, few) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=128 + t) as mine, group(thread[1]):
                mine[0] = int32(total)


def teams_of(tiles: int, copies: int, deep: int) -> Launch:
    x = aligned(np.random.default_rng(tiles).integers(-(2**31), 2**31, max(1, tiles) * TILE).astype(np.int32))
    total = np.ones(192, np.uint32)
    for k in range(tiles):
        tile = x.view(np.uint32)[k * TILE : (k + 1) * TILE]
        other = tile[:64] if k % 2 == 0 else np.full(64, k, np.uint32)
        total = total * np.uint32(3) + np.concatenate([tile[::-1], other[::-1]])
    arguments = (x, np.zeros(192, np.int32), np.int32(tiles))
    return Launch(teams, (1, 224), arguments, {1: total.view(np.int32)}, {"COPIES": copies, "DEEP": deep})


@prism("global")
@template(COPIES=constexpr(int), AHEAD=constexpr(int))
@attr("__launch_bounds__(128, 1)")
@requires(grid[1], block[1], warpgroup[1])
def multiplied(
    x: ptr(const(bf16)) @ grid[1], w: ptr(const(bf16)) @ grid[1], z: ptr(float32) @ grid[1], steps: int32 @ grid[1]
):
    """A warpgroup copies tiles by `cp.async`, 16 bytes at a time, and multiplies them."""
    with partition(z, block[1], offset=id() * 1024) as out, group(block[1]):
        a: shared(bf16[64, 64], ring=COPIES, swizzle=128)
        b: shared(bf16[16, 64], ring=COPIES, swizzle=128)
        sums: fragment(float32, 64, 16) @ warpgroup[1]
        sums = 0.0
        t: int32 @ thread[1] = id()
        for k in range(0, steps):
            with partition(a, thread[1], lambda i, j: (t // 8 + 16 * i, t % 8 * 8 + j)) as mine, async_(mine) as place:
                with group(thread[1]):
                    for i in range(0, 4):
                        cp_async(place[i, 0], x[(k * 64 + t // 8 + 16 * i) * 64 + t % 8 * 8], bytes=16)
            with partition(b, thread[1], lambda i, j: (t // 8 + i, t % 8 * 8 + j)) as mine, async_(mine) as place:
                with group(thread[1]):
                    cp_async(place[0, 0], w[(k * 16 + t // 8) * 64 + t % 8 * 8], bytes=16)
            with (
                claim(a, warpgroup[1], in_flight=AHEAD) as left,
                claim(b, warpgroup[1], in_flight=AHEAD) as right,
                one(warpgroup),
            ):
                wgmma(sums, left, right)
        with partition(out, thread[1], offset=(t // 32 * 16 + t % 32 // 4) * 16 + t % 4 * 2) as mine, group(thread[1]):
            for i in range(0, count(sums)):
                mine[(row(sums, i) - row(sums, 0)) * 16 + column(sums, i) - column(sums, 0)] = sums[i]


def multiplied_of(steps: int, copies: int, ahead: int = 0) -> Launch:
    rng = np.random.default_rng(steps)
    a, b = (bf16_bits(rng.integers(-4, 5, (steps, rows, 64)).astype(np.float32)) for rows in (64, 16))
    wanted = np.einsum("kij,knj->in", bf16_values(a).astype(np.int64), bf16_values(b).astype(np.int64))
    arguments = (aligned(a.ravel()), aligned(b.ravel()), np.zeros(1024, np.float32), np.int32(steps))
    template = {"COPIES": copies, "AHEAD": ahead}
    return Launch(multiplied, (1, 128), arguments, {2: wanted.ravel().astype(np.float32)}, template)
