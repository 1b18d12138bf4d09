"""Kernels whose blocks reduce into one place in bulk: for the reference machine and for a GPU."""
# ruff: noqa: F821, I001 -- names that the kernels declare

from __future__ import annotations

from prism.lang import (
    CUtensorMap, block, bulk_reduce, claim, const, constexpr, dtype, grid, group, id, int32, one, partition, prism, ptr, requires,
    roles, shared, template, thread, tma_load, tma_reduce,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(T=dtype, OP=constexpr(int))
def reduced(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], trips: int32 @ grid[1]):
    """Each block combines `trips` rows of 256 elements of its own with y, in every trip the same places."""
    b: int32 @ block[1] = id()
    with group(block[1]):
        s: shared(T[256])
        t: int32 @ thread[1] = id()
        for i in range(trips):
            with partition(s, thread[1], lambda e: t + 64 * e) as mine, group(thread[1]):
                for e in range(4):
                    mine[e] = x[256 * (trips * b + i) + t + 64 * e]
            with claim(s, thread[1]) as whole, one(thread):
                bulk_reduce(
                    y[0], whole,
                    op="add" if OP == 0 else "min" if OP == 1 else "max" if OP == 2
                    else "and" if OP == 3 else "or" if OP == 4 else "xor",
                )  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(T=dtype, OP=constexpr(int))
def reduced_parts(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1]):
    """Each thread combines n elements of its own part of a tile with y, at its own place and at its neighbour's."""
    b: int32 @ block[1] = id()
    with group(block[1]):
        s: shared(T[1024])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], 16 * t) as mine, group(thread[1]):
            for e in range(16):
                mine[e] = x[1024 * b + 16 * t + e]
        with group(thread[1]):
            bulk_reduce(
                y[16 * t], s[16 * t], n=n,
                op="add" if OP == 0 else "min" if OP == 1 else "max" if OP == 2
                else "and" if OP == 3 else "or" if OP == 4 else "xor",
            )  # fmt: skip
            bulk_reduce(
                y[16 * t + 16], s[16 * t], n=n,
                op="add" if OP == 0 else "min" if OP == 1 else "max" if OP == 2
                else "and" if OP == 3 else "or" if OP == 4 else "xor",
            )  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(T=dtype, D=constexpr(int), SPAN=constexpr(int), OP=constexpr(int))
def reduced_heads(
    x: const(CUtensorMap(T, 1, 1, 16, D, swizzle=SPAN)) @ grid[1], y: CUtensorMap(T, 1, 1, 16, D, swizzle=SPAN) @ grid[1],
    heads: int32 @ grid[1], rows: int32 @ grid[1],
):  # fmt: skip
    """The heads of each batch are combined into its one head of y: as dK of grouped queries. The last tile is clipped."""
    b: int32 @ block[1] = id() // heads
    h: int32 @ block[1] = id() % heads
    with group(block[1]):
        tile: shared(T[16, D], ring=2, swizzle=SPAN)
        adder, loader = roles(thread, 32, 32)
        for j in range(0, rows, 16):
            with claim(tile, loader) as coming, one(thread):
                tma_load(coming, x[b, h, j, 0])
            with claim(tile, adder) as here, one(thread):
                tma_reduce(
                    y[b, 0, j, 0], here,
                    op="add" if OP == 0 else "min" if OP == 1 else "max" if OP == 2
                    else "and" if OP == 3 else "or" if OP == 4 else "xor",
                )  # fmt: skip
