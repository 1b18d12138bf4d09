"""Kernels whose loops are split: conditions that hold in the first trips, in all but the last, or from some trip on."""

# ruff: noqa: F821, I001 -- kernels: names that they declare
from __future__ import annotations

from prism.lang import (
    CUtensorMap, attr, block, bulk_load, claim, column, const, constexpr, count, fragment, grid, group, half, float32, id, int32,
    load_vector, one, partition, prism, ptr, requires, roles, row, shared, store_vector, template, thread,
    tma_load, uint32, warp, warpgroup, wgmma,
)  # fmt: skip

SIDE = 64


@prism("global")
@attr("__launch_bounds__(96)")
@template(STEP=constexpr(int), START=constexpr(int, default=-1))
@requires(grid[1], block[1], warp[3])
def between(
    x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], start: int32 @ grid[1], stop: int32 @ grid[1],
    low: int32 @ grid[1], high: int32 @ grid[1],
):  # fmt: skip
    """Rows of two rings, each visited in its own part of the range: from `low` on, and below `high`."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        early: shared(int32[64], ring=2)
        late: shared(int32[64], ring=3)
        adders, loader = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        total: uint32 @ thread[1] = 1
        for j in range(start if START < 0 else START, stop, STEP):
            if j >= low:
                with claim(late, loader) as coming, one(thread):
                    bulk_load(coming, x[64 * j])
            if j < high:
                with claim(early, loader) as coming, one(thread):
                    bulk_load(coming, x[64 * j])
            if low <= j:
                with claim(late, adders) as here, group(thread[1]):
                    total = 3 * total + uint32(here[t])
            with group(thread[1]):
                total = 7 * total
            if not j >= high:
                with claim(early, adders) as here, group(thread[1]):
                    total = 5 * total + uint32(here[t])
        with partition(out, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = int32(total)


@prism("global")
@attr("__launch_bounds__(256, 1)")
@template(CLAIMS=constexpr(bool), STEP=constexpr(int), EAGER=constexpr(bool, default=False))
@requires(grid[1], block[1], warpgroup[2])
def follow(
    q: ptr(const(half)) @ grid[1], k: const(CUtensorMap(half, SIDE, SIDE, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(half, SIDE, SIDE, swizzle=128)) @ grid[1], o: ptr(float32) @ grid[1], end: int32 @ grid[1],
    near: int32 @ grid[1],
):  # fmt: skip
    """q k^T v, a tile at a time: each trip multiplies by one of k, and by that of v before; twice from column `near` on.

    With `EAGER` a tile of k more is loaded, which nobody uses.
    """
    with partition(o, block[1], lambda r, c: SIDE * r + c) as out, group(block[1]):
        q_tile: shared(half[SIDE, SIDE], swizzle=128)
        k_tile: shared(half[SIDE, SIDE], ring=2, swizzle=128)
        v_tile: shared(half[SIDE, SIDE], ring=2, swizzle=128)
        weights: fragment(half, SIDE, SIDE) @ warpgroup[1] = 0
        scores: fragment(float32, SIDE, SIDE) @ warpgroup[1] = 0
        sums: fragment(float32, SIDE, SIDE) @ warpgroup[1] = 0
        users, loader = roles(warpgroup, 1, 1)
        t: int32 @ thread[1] = id()
        with partition(q_tile, thread[1], lambda e: (e // SIDE, e % SIDE)) as mine, group(thread[1]):
            for e in range(8 * t, SIDE * SIDE, 8 * 256):
                store_vector(mine[e], load_vector(q[e], 8))
        for j in range(0, end + STEP, STEP):
            if CLAIMS:
                if j < end:
                    with claim(k_tile, loader) as coming, one(thread):
                        tma_load(coming, k[j, 0])
                if j > 0:
                    with claim(v_tile, loader) as coming, one(thread):
                        tma_load(coming, v[j - STEP, 0])
            else:
                with claim(k_tile, loader) as coming, one(thread):
                    if EAGER or j < end:
                        tma_load(coming, k[j, 0])
                with claim(v_tile, loader) as coming, one(thread):
                    if j > 0:
                        tma_load(coming, v[j - STEP, 0])
            if CLAIMS:
                if j < end:
                    with claim(k_tile, users, in_flight=1) as k_now, group(warpgroup[1]):
                        wgmma(scores, q_tile, k_now, accumulate=False)
                if j > 0:
                    with claim(v_tile, users, in_flight=1) as v_now, group(warpgroup[1]):
                        wgmma(sums, weights, v_now, transpose_b=True, accumulate=j > STEP)
            else:
                with claim(k_tile, users, in_flight=1) as k_now, group(warpgroup[1]):
                    if j < end:
                        wgmma(scores, q_tile, k_now, accumulate=False)
                with claim(v_tile, users, in_flight=1) as v_now, group(warpgroup[1]):
                    if j > 0:
                        wgmma(sums, weights, v_now, transpose_b=True, accumulate=j > STEP)
            if j < end:
                with users, group(thread[1]):
                    if j + STEP > near:
                        for i in range(count(scores)):
                            scores[i] = (2 if j + column(scores, i) >= near else 1) * scores[i]
                    for i in range(count(weights)):
                        weights[i] = half(scores[i])
        with partition(out, thread[1], lambda r, c: (r, c), races="allow") as mine, users, group(thread[1]):
            for i in range(count(sums)):
                mine[row(sums, i), column(sums, i)] = sums[i]
