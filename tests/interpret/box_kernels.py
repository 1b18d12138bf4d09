"""Kernels that copy boxes of 3 to 5 dimensions, and the arrays that they copy: for the reference machine and for a GPU."""
# ruff: noqa: F821, I001 -- names that the kernels declare

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang import (
    CUtensorMap, block, claim, column, const, constexpr, count, float32, fragment, grid, group, half, id, int32, one, partition,
    prism, ptr, requires, roles, row, shared, template, thread, tma_load, tma_store, warpgroup, wgmma,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(P=constexpr(int), Q=constexpr(int), D=constexpr(int), SPAN=constexpr(int))
def heads(
    x: const(CUtensorMap(half, 1, P, Q, D, swizzle=SPAN)) @ grid[1],
    y: CUtensorMap(half, 1, P, Q, D, swizzle=SPAN) @ grid[1],
    across: int32 @ grid[1], rows: int32 @ grid[1],
):  # fmt: skip
    """Copies `rows` positions of the second axis (Q = 1) or the third of each head; the tile is a matrix."""
    b: int32 @ block[1] = id() // across
    h: int32 @ block[1] = id() % across
    with group(block[1]):
        tile: shared(half[P * Q, D], ring=2, swizzle=SPAN)
        storer, loader = roles(thread, 32, 32)
        for j in range(0, rows, P * Q):
            with claim(tile, loader) as coming, one(thread):
                if Q == 1:
                    tma_load(coming, x[b, j, h, 0])
                else:
                    tma_load(coming, x[b, h, j, 0])
            with claim(tile, storer) as here, one(thread):
                if Q == 1:
                    tma_store(y[b, j, h, 0], here)
                else:
                    tma_store(y[b, h, j, 0], here)


@prism("global")
@requires(grid[1], block[1], warpgroup[2])
@template(G=constexpr(int), N=constexpr(int), D=constexpr(int))
def scores(
    q: const(CUtensorMap(half, 1, 64 // G, G, D, swizzle=128)) @ grid[1],
    k: const(CUtensorMap(half, 1, N, 1, D, swizzle=128)) @ grid[1],
    s: ptr(float32) @ grid[1], length: int32 @ grid[1],
):  # fmt: skip
    """S of a batch and a key's head: q's rows are 64 / G positions of G heads each, k's are N positions."""
    b: int32 @ block[1] = id(block[1])
    with partition(s, block[1], lambda i, j: 64 * length * b + length * i + j) as out, group(block[1]):
        q_tile: shared(half[64, D], ring=2, swizzle=128)
        k_tile: shared(half[N, D], ring=2, swizzle=128)
        acc: fragment(float32, 64, N) @ warpgroup[1]
        consumers, producer = roles(warpgroup, 1, 1)
        for j in range(0, length, N):
            with claim(q_tile, producer) as q_in, claim(k_tile, producer) as k_in, one(thread):
                tma_load(q_in, q[b, 0, 0, 0])
                tma_load(k_in, k[b, j, 0, 0])
            with claim(q_tile, consumers) as q_now, claim(k_tile, consumers) as k_now, group(warpgroup[1]):
                wgmma(acc, q_now, k_now, accumulate=False)
            with partition(out, thread[1], lambda i, e: (i, j + e), races="allow") as mine, consumers, group(thread[1]):
                for i in range(count(acc)):
                    if j + column(acc, i) < length:
                        mine[row(acc, i), column(acc, i)] = acc[i]


@prism("global")
@requires(grid[1], block[2], thread[64])
@template(D=constexpr(int))
def together(
    x: const(CUtensorMap(int32, 1, 1, 1, 8, D)) @ grid[1], y: CUtensorMap(int32, 1, 1, 2, 8, D) @ grid[1], n: int32 @ grid[1],
):  # fmt: skip
    """Each block of a cluster loads half a tile for both: of five axes, the third is the block's, the fourth the half's rows."""
    c: int32 @ block[2] = id()
    with group(block[2]):
        r: int32 @ block[1] = id()
        with group(block[1]):
            tile: shared(int32[16, D], ring=2)
            storer, loader = roles(thread, 32, 32)
            for i in range(n):
                with claim(tile, loader) as coming, one(thread):
                    tma_load(coming[8 * r, 0], x[c, i, r, 0, 0], multicast=3)
                with claim(tile, storer) as here, one(thread):
                    tma_store(y[2 * c + r, i, 0, 0, 0], here)


@prism("global")
@requires(grid[1], block[1], thread[64])
def one_box(
    x: const(CUtensorMap(half, 8, 64)) @ grid[1],
    y: CUtensorMap(half, 8, 64) @ grid[1],
    i: int32 @ grid[1],
    j: int32 @ grid[1],
):
    """Copies 8 rows, from row i on, to where row j begins."""
    with group(block[1]):
        tile: shared(half[8, 64], ring=1)
        storer, loader = roles(thread, 32, 32)
        with claim(tile, loader) as coming, one(thread):
            tma_load(coming, x[i, 0])
        with claim(tile, storer) as here, one(thread):
            tma_store(y[j, 0], here)


@prism("global")
@requires(grid[1], block[1], thread[64])
def some_columns(
    x: const(CUtensorMap(half, 8, 64)) @ grid[1],
    y: CUtensorMap(half, 8, 64) @ grid[1],
    i: int32 @ grid[1],
    j: int32 @ grid[1],
):
    """Copies 64 columns, from column i on, to where column j begins."""
    with group(block[1]):
        tile: shared(half[8, 64], ring=1)
        storer, loader = roles(thread, 32, 32)
        with claim(tile, loader) as coming, one(thread):
            tma_load(coming, x[0, i])
        with claim(tile, storer) as here, one(thread):
            tma_store(y[0, j], here)


@prism("global")
@requires(grid[1], block[1], thread[64])
def stored_at(
    x: const(CUtensorMap(half, 8, 64)) @ grid[1],
    y: CUtensorMap(half, 8, 64) @ grid[1],
    i: int32 @ grid[1],
    j: int32 @ grid[1],
):
    """Copies the first 8 rows and 64 columns to where i, j is."""
    with group(block[1]):
        tile: shared(half[8, 64], ring=1)
        storer, loader = roles(thread, 32, 32)
        with claim(tile, loader) as coming, one(thread):
            tma_load(coming, x[0, 0])
        with claim(tile, storer) as here, one(thread):
            tma_store(y[i, j], here)


@prism("global")
@requires(grid[1], block[1], thread[64])
def some_rows(
    x: const(CUtensorMap(int32, 2, 16)) @ grid[1], y: CUtensorMap(int32, 2, 16) @ grid[1], first: int32 @ grid[1]
):
    """Copies 2 rows of 64 bytes, by rows of a tile from `first` on."""
    with group(block[1]):
        tile: shared(int32[8, 16], ring=1)
        storer, loader = roles(thread, 32, 32)
        with claim(tile, loader) as coming, one(thread):
            tma_load(coming[first, 0], x[0, 0])
        with claim(tile, storer) as here, one(thread):
            tma_store(y[0, 0], here[first, 0])


LAYOUTS: dict[str, tuple[int, ...]] = {
    "batch, heads, length, dim": (0, 1, 2, 3),
    "batch, length, heads, dim": (0, 2, 1, 3),
    "heads, batch, length, dim": (1, 0, 2, 3),
    "length, batch, heads, dim": (2, 0, 1, 3),
}
"""How (batch, heads, length, dim) may lie in memory: which axis is the outermost, and so on."""


def laid_out(shape: tuple[int, ...], order: tuple[int, ...], pad: int = 0, dtype: Any = np.float16) -> Any:
    """Return a view of this shape whose axes lie in memory in this order, its rows `pad` elements longer than they need be."""
    room = [shape[axis] for axis in order]
    room[-1] += pad
    found = np.zeros(room, dtype)
    return found[..., : shape[-1]].transpose(np.argsort(order))


@prism("global")
@requires(grid[1], block[1], thread[64])
def wide_box(
    x: const(CUtensorMap(half, 8, 128, swizzle=128)) @ grid[1],
    y: CUtensorMap(half, 8, 128, swizzle=128) @ grid[1],
    i: int32 @ grid[1],
    j: int32 @ grid[1],
):
    """Copies 8 rows, from i, j on: in two pieces, for what is permuted is 64 columns wide."""
    with group(block[1]):
        tile: shared(half[8, 128], ring=1, swizzle=128)
        storer, loader = roles(thread, 32, 32)
        with claim(tile, loader) as coming, one(thread):
            tma_load(coming, x[i, j])
        with claim(tile, storer) as here, one(thread):
            tma_store(y[0, 0], here)
