"""Kernels with rings, asynchronous copies, wgmma and clusters, with arguments and what NumPy makes of them.

The reference machine's tests and the GPU's share them.
"""

# ruff: noqa: F821, I001 - kernels declare shared memory and registers without a value

from __future__ import annotations

from typing import Any

import numpy as np

from examples.paper.hgemm import hgemm
from prism.lang import (
    CUtensorMap, async_, atomic_add, attr, bf16, block, bulk_load, claim, column, const, constexpr, count, cp_async,
    dtype, float32, fragment, grid, group, id, int32, one, partition, prism, ptr, requires, roles, row, set_registers,
    shared, template, thread, tma_load, tma_store, uint32, warp, warpgroup, wgmma,
)  # fmt: skip
from prism.lang.types.shorts import bf16_bits, bf16_values
from prism.lang.types import BFLOAT16, FLOAT32, INT8, INT32, UINT8
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
        total: uint32 @ thread[1] = 1
        for k in range(0, tiles):
            with partition(a, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
                cp_async(place[0], x[first + k * TILE + t], bytes=4)
            with partition(a, block[1]) as tile, group(thread[1]):
                total = 3 * total + uint32(tile[TILE - 1 - t])
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = int32(total)


@prism("global")
@requires(grid[1], block[1], thread[128])
def two_buffers(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], pairs: int32 @ grid[1]):
    """The same with two plain objects: a tile is copied while the other one is read."""
    first: int32 @ block[1] = id() * 2 * pairs * TILE
    with partition(y, block[1], offset=id() * TILE) as out, group(block[1]):
        a: shared(int32[TILE]) @ block[1]
        b: shared(int32[TILE]) @ block[1]
        t: int32 @ thread[1] = id()
        total: uint32 @ thread[1] = 1
        with partition(a, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
            cp_async(place[0], x[first + t], bytes=4)
        for k in range(0, pairs):
            with partition(b, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
                cp_async(place[0], x[first + (2 * k + 1) * TILE + t], bytes=4)
            with group(thread[1]):
                total = 3 * total + uint32(a[TILE - 1 - t])
            with partition(a, thread[1], offset=t) as mine, async_(mine) as place, group(thread[1]):
                if k + 1 < pairs:
                    cp_async(place[0], x[first + (2 * k + 2) * TILE + t], bytes=4)
            with group(thread[1]):
                total = 3 * total + uint32(b[TILE - 1 - t])
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = int32(total)


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
        total: uint32 @ thread[1] = 1
        for k in range(0, tiles):
            with claim(a, loader) as tile, one(thread):
                bulk_load(tile, x[first + k * TILE])
            with claim(a, readers) as tile:
                t: int32 @ thread[1] = id()
                with group(thread[1]):
                    total = 3 * total + uint32(tile[TILE - 1 - t])
        with claim(out, readers) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                mine[0] = int32(total)


@prism("global")
@template(COPIES=constexpr(int))
@attr("__launch_bounds__(192)")
@requires(grid[1], block[1], thread[192])
def drawn(
    x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], counter: ptr(int32) @ grid[1], tiles: int32 @ grid[1]
):
    """A warp draws numbers until there are no more, a second one asks for those tiles, four turn them round."""
    with partition(y, block[1], races="allow") as out, group(block[1]):
        numbers: shared(int32[1], ring=2) @ block[1]
        a: shared(int32[TILE], ring=COPIES) @ block[1]
        readers, loader, drawer = roles(warp, 4, 1, 1)
        while True:
            with claim(numbers, drawer) as next_, claim(next_, thread[1]) as number, one(thread):
                number[0] = atomic_add(counter[0], 1)
            tile: int32 @ block[1] = tiles
            with partition(numbers, block[1]) as number:
                tile = number[0]
            if tile >= tiles:
                break
            with claim(a, loader) as place, one(thread):
                bulk_load(place, x[tile * TILE])
            with claim(a, readers) as place, claim(out, readers) as part:
                t: int32 @ thread[1] = id()
                with partition(part, thread[1], offset=tile * TILE + t) as mine, group(thread[1]):
                    mine[0] = place[TILE - 1 - t]


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


def drawn_by(blocks: int, tiles: int, copies: int) -> Launch:
    x = aligned(np.random.default_rng(tiles).integers(-(2**31), 2**31, tiles * TILE).astype(np.int32))
    arguments = (x, np.zeros_like(x), np.zeros(1, np.int32), np.int32(tiles))
    wanted = {1: x.reshape(tiles, TILE)[:, ::-1].ravel(), 2: np.array([tiles + blocks])}
    return Launch(drawn, (blocks, 192), arguments, wanted, {"COPIES": copies})


# -- tensor copies ----------------------------------------------------------------------------------------------------


@prism("global")
@template(T=dtype, R=constexpr(int), C=constexpr(int), SWIZZLE=constexpr(int), COPIES=constexpr(int))
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def doubled(
    x: const(CUtensorMap(T, R, C, swizzle=SWIZZLE)) @ grid[1],
    y: CUtensorMap(T, R, C, swizzle=SWIZZLE) @ grid[1],
    plain: ptr(T) @ grid[1],
    tiles: int32 @ grid[1],
):
    """A block's column of tiles: each is copied in, doubled in place, copied out; and stored plainly, row after row."""
    b: int32 @ block[1] = id()
    with partition(plain, block[1], offset=b * tiles * R * C) as mine, group(block[1]):
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
                            tile[i // C, i % C] = tile[i // C, i % C] + tile[i // C, i % C]
                            part[i] = tile[i // C, i % C]
            with claim(a, thread[1]) as tile:
                with one(thread):
                    tma_store(y[k * R, b * C], tile)


def tiles_doubled(scalar: Any, rows: int, columns: int, swizzle: int, copies: int, tiles: int = 5) -> Launch:
    """Three blocks' columns of tiles; the array is not a whole number of tiles in either direction."""
    template = {"T": scalar, "R": rows, "C": columns, "SWIZZLE": swizzle, "COPIES": copies}
    piece = 16 // scalar.bytes
    height, width = tiles * rows - 3, 3 * columns - piece
    x = small(scalar, np.random.default_rng(rows), (height, width))
    whole = np.zeros((tiles * rows, 3 * columns), x.dtype)
    whole[:height, :width] = added(scalar, x, x)
    plain = whole.reshape(tiles * rows, 3, columns).swapaxes(0, 1)
    arguments = (x, np.zeros_like(x), np.zeros(plain.size, x.dtype), np.int32(tiles))
    return Launch(doubled, (3, 64), arguments, {1: whole[:height, :width], 2: plain.ravel()}, template)


def small(scalar: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Small integers as a type stores them: their sums of products are exact in float32."""
    values = rng.integers(0 if scalar == UINT8 else -4, 5, shape)
    return bf16_bits(values.astype(np.float32)) if scalar == BFLOAT16 else values.astype(scalar.numpy)


def numbers(scalar: Any, stored: Any) -> Any:
    return bf16_values(stored) if scalar == BFLOAT16 else stored


def added(scalar: Any, x: Any, y: Any) -> Any:
    total = numbers(scalar, x) + numbers(scalar, y)
    return bf16_bits(total) if scalar == BFLOAT16 else total.astype(x.dtype)


# -- wgmma ------------------------------------------------------------------------------------------------------------


@prism("global")
@template(
    T=dtype,
    S=dtype,
    N=constexpr(int),
    K=constexpr(int),
    SWIZZLE=constexpr(int),
    RA=constexpr(int),
    CA=constexpr(int),
    RB=constexpr(int),
    CB=constexpr(int),
    TA=constexpr(bool),
    TB=constexpr(bool),
    AHEAD=constexpr(int),
)
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def products(
    x: const(CUtensorMap(T, RA, CA, swizzle=SWIZZLE)) @ grid[1],
    y: const(CUtensorMap(T, RB, CB, swizzle=SWIZZLE)) @ grid[1],
    z: ptr(S) @ grid[1],
    steps: int32 @ grid[1],
):
    """One tile of 64 x N: the sum of the products of a row of tiles; `AHEAD` are under way when the next begins."""
    with partition(z, block[1], offset=id() * 64 * N) as out, group(block[1]):
        a: shared(T[RA, CA], ring=AHEAD + 1, swizzle=SWIZZLE) @ block[1]
        b: shared(T[RB, CB], ring=AHEAD + 1, swizzle=SWIZZLE) @ block[1]
        sums: fragment(S, 64, N) @ warpgroup[1]
        consumer, producer = roles(warpgroup, 1, 1)
        for k in range(0, steps):
            with claim(a, producer) as tile_a, claim(b, producer) as tile_b, one(thread):
                tma_load(tile_a, x[k * RA, 0])
                tma_load(tile_b, y[k * RB, 0])
            with claim(a, consumer, in_flight=AHEAD) as tile_a, claim(b, consumer, in_flight=AHEAD) as tile_b:
                wgmma(sums, tile_a, tile_b, transpose_a=TA, transpose_b=TB, accumulate=k > 0)
        with claim(out, consumer) as part:
            t: int32 @ thread[1] = id()
            with (
                partition(part, thread[1], offset=(t // 32 * 16 + t % 32 // 4) * N + t % 4 * 2) as mine,
                group(thread[1]),
            ):
                for i in range(0, count(sums)):
                    mine[(row(sums, i) - row(sums, 0)) * N + column(sums, i) - column(sums, 0)] = sums[i]


def product(
    scalar: Any,
    columns: int,
    depth: int,
    swizzle: int = 128,
    ta: bool = False,
    tb: bool = False,
    ahead: int = 0,
    steps: int = 3,
) -> Launch:
    """Integers so small that every sum is exact: the result must be NumPy's bit for bit."""
    rng, sum_ = np.random.default_rng(columns), INT32 if scalar in (INT8, UINT8) else FLOAT32
    a, b = small(scalar, rng, (steps, 64, depth)), small(scalar, rng, (steps, columns, depth))
    total = np.einsum("kij,knj->in", numbers(scalar, a).astype(np.int64), numbers(scalar, b).astype(np.int64))
    x = np.ascontiguousarray(a.swapaxes(1, 2) if ta else a)
    y = np.ascontiguousarray(b.swapaxes(1, 2) if tb else b)
    template = {
        "T": scalar, "S": sum_, "N": columns, "K": depth, "SWIZZLE": swizzle, "TA": ta, "TB": tb, "AHEAD": ahead,
        "RA": x.shape[1], "CA": x.shape[2], "RB": y.shape[1], "CB": y.shape[2],
    }  # fmt: skip
    x, y = x.reshape(-1, x.shape[2]), y.reshape(-1, y.shape[2])
    z = np.zeros(64 * columns, sum_.numpy)
    return Launch(products, (1, 256), (x, y, z, np.int32(steps)), {2: total.ravel().astype(z.dtype)}, template)


def hgemm_of(m: int, n: int, k: int, bn: int = 256, bk: int = 64, stages: int = 4, exact: bool = False) -> Launch:
    """The paper's kernel. Sums of few small integers are exact, and small enough for bfloat16 too."""
    rng = np.random.default_rng(m + n + k)
    if exact:
        a, b = (rng.choice([-1.0, 0.0, 1.0], (rows, k), p=[1 / 32, 15 / 16, 1 / 32]) for rows in (m, n))
    else:
        a, b = (rng.normal(size=(rows, k)) for rows in (m, n))
    a, b = (bf16_bits(x.astype(np.float32)) for x in (a, b))
    wide = [bf16_values(x).astype(np.float64) for x in (a, b)]
    wanted = wide[0] @ wide[1].T
    # One rounding to bfloat16 (2^-9 relative), and float32 sums of k products in an unknown order: KERNELS.md, section 6.
    slack = 0.0 if exact else np.max(2.0**-8 * abs(wanted) + 2 * k**0.5 * 2.0**-24 * (abs(wide[0]) @ abs(wide[1]).T))
    arguments = (a, b, np.zeros(m * n, np.uint16), np.int32(m), np.int32(n), np.int32(k))
    template = {"BN": bn, "BK": bk, "STAGES": stages}
    return Launch(
        hgemm, (m // 128 * (n // bn), 384), arguments, {2: wanted.ravel()}, template, float(slack), bf16_values
    )


@prism("global")
@template(BN=constexpr(int), STAGES=constexpr(int), AHEAD=constexpr(int))
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def lasting(
    x: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1],
    y: const(CUtensorMap(bf16, BN, 64, swizzle=128)) @ grid[1],
    z: ptr(float32) @ grid[1],
    m: int32 @ grid[1],
    n: int32 @ grid[1],
    k: int32 @ grid[1],
):
    """As the paper's kernel, but a block computes one tile after the other: its rings go on from one to the next."""
    across: int32 @ grid[1] = n // BN
    tiles: int32 @ grid[1] = m // 64 * across
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with partition(z, block[1], races="allow") as out, group(block[1]):
        a: shared(bf16[64, 64], ring=STAGES, swizzle=128) @ block[1]
        c: shared(bf16[BN, 64], ring=STAGES, swizzle=128) @ block[1]
        sums: fragment(float, 64, BN) @ warpgroup[1]
        consumer, producer = roles(warpgroup, 1, 1)
        for tile in range(b, tiles, blocks):
            top: int32 @ block[1] = tile // across * 64
            left: int32 @ block[1] = tile % across * BN
            for first in range(0, k, 64):
                with claim(a, producer) as tile_a, claim(c, producer) as tile_c, one(thread):
                    tma_load(tile_a, x[top, first])
                    tma_load(tile_c, y[left, first])
                with claim(a, consumer, in_flight=AHEAD) as tile_a, claim(c, consumer, in_flight=AHEAD) as tile_c:
                    wgmma(sums, tile_a, tile_c, accumulate=first > 0)
            with claim(out, consumer) as part:
                t: int32 @ thread[1] = id()
                start: int32 @ thread[1] = (top + t // 32 * 16 + t % 32 // 4) * n + left + t % 4 * 2
                with partition(part, thread[1], offset=start) as mine, group(thread[1]):
                    for i in range(0, count(sums)):
                        mine[(row(sums, i) - row(sums, 0)) * n + column(sums, i) - column(sums, 0)] = sums[i]


def lasting_of(m: int, n: int, k: int, blocks: int, bn: int = 64, stages: int = 3, ahead: int = 1) -> Launch:
    rng = np.random.default_rng(m + n + k)
    x, y = small(BFLOAT16, rng, (m, k)), small(BFLOAT16, rng, (n, k))
    wanted = (bf16_values(x) @ bf16_values(y).T).ravel()
    arguments = (x, y, np.zeros(m * n, np.float32), np.int32(m), np.int32(n), np.int32(k))
    return Launch(lasting, (blocks, 256), arguments, {2: wanted}, {"BN": bn, "STAGES": stages, "AHEAD": ahead})


# -- clusters and registers -------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[2], thread[128])
def swapped(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    """Two blocks of a cluster give each other what they read."""
    first: int32 @ block[1] = id() * TILE
    with partition(y, block[1], offset=first) as out, group(block[2]):
        s: shared(float32[2, TILE]) @ block[2]
        r: int32 @ block[1] = id()
        with partition(s, block[1], lambda i: (r, i)) as mine, group(block[1]):
            t: int32 @ thread[1] = id()
            with partition(mine, thread[1], offset=t) as place, group(thread[1]):
                place[0] = x[first + t]
        with group(block[1]):
            t: int32 @ thread[1] = id()
            with partition(out, thread[1], offset=t) as place, group(thread[1]):
                place[0] = s[1 - r, t]


@prism("global")
@template(COPIES=constexpr(int))
@attr("__launch_bounds__(160)")
@requires(grid[1], block[2], thread[160])
def halves(x: const(CUtensorMap(int32, 8, 32, swizzle=128)) @ grid[1], y: ptr(int32) @ grid[1], tiles: int32 @ grid[1]):
    """Each of two blocks asks for one half of a tile, for both of them."""
    with partition(y, block[1], offset=id() * TILE) as out, group(block[2]):
        r: int32 @ block[1] = id()
        with group(block[1]):
            a: shared(int32[16, 32], ring=COPIES, swizzle=128) @ block[1]
            readers, loader = roles(warp, 4, 1)
            total: uint32 @ thread[1] = 1
            for k in range(0, tiles):
                with claim(a, loader) as tile, one(thread):
                    tma_load(tile[r * 8, 0], x[k * 16 + r * 8, 0], multicast=3)
                with claim(a, readers) as tile:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        for j in range(0, 4):
                            total = 3 * total + uint32(tile[t // 8, t % 8 * 4 + j])
            with claim(out, readers) as part:
                t: int32 @ thread[1] = id()
                with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                    mine[0] = int32(total)


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def reshared(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    """One warpgroup gives registers away, which the other one takes."""
    first: int32 @ block[1] = id() * TILE
    with partition(y, block[1], offset=first) as out, group(block[1]):
        workers, idle = roles(warpgroup, 1, 1)
        with idle:
            set_registers(24)
        with workers:
            set_registers(240)
        with claim(out, workers) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                mine[0] = 2.0 * x[first + t]


def halved(tiles: int, copies: int, clusters: int = 3) -> Launch:
    x = np.random.default_rng(tiles).integers(-(2**31), 2**31, (tiles * 16, 32)).astype(np.int32)
    total = np.ones(TILE, np.uint32)
    for four in x.view(np.uint32).reshape(tiles, TILE, 4):
        for part in four.T:
            total = total * np.uint32(3) + part
    wanted = {1: np.tile(total.view(np.int32), 2 * clusters)}
    y = np.zeros(2 * clusters * TILE, np.int32)
    return Launch(halves, (2 * clusters, 160), (x, y, np.int32(tiles)), wanted, {"COPIES": copies})


def exchanged() -> Launch:
    x = np.random.default_rng(0).normal(size=2 * 3 * TILE).astype(np.float32)
    wanted = x.reshape(3, 2, TILE)[:, ::-1].ravel()
    return Launch(swapped, (6, TILE), (x, np.zeros_like(x)), {1: wanted})


def registers_moved() -> Launch:
    x = np.random.default_rng(0).normal(size=9 * TILE).astype(np.float32)
    return Launch(reshared, (9, 256), (x, np.zeros_like(x)), {1: x + x})
