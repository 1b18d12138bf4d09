"""Products of 8-bit floats whose scales are of blocks: each 128 of K are added up apart, and then to the sums, scaled.

The tensor cores add 8-bit floats with about 14 bits. So what they add is a step's alone: its sums are added to the tile's in
float32, by the threads that have both in registers, while another warpgroup multiplies. This is what the steps of the main loop
do with their tiles; who brings these, and what becomes of the sums, are as in every other product.
"""

from __future__ import annotations

from prism.kernels.hgemm.cut import DEPTH, ROUND, Blocks, Cut
from prism.kernels.hgemm.main_loop import load_tiles, multiply
from prism.lang import (
    CUtensorMap, async_, block, claim, const, constexpr, count, cp_async, dtype, float32, fragment, grid, group, id, int32, int64,
    partition, prism, ptr, requires, roles, shared, template, thread, warp, warpgroup, wgmma,
)  # fmt: skip

HALF = DEPTH // 2
"""Columns that have one scale, wherever a tile begins: tiles have a multiple of so many, or divide it."""


@prism.device
@template(CUT=constexpr(Cut), BLOCKS=constexpr(Blocks), BATCH=constexpr(int), T=dtype, TB=dtype, SUM=dtype)
@requires(block[1], thread["CUT.threads"])
def make_sums(
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), loader: roles(warp, 1),
    fetcher: roles(warp, 1), map_a: const(CUtensorMap(T, CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    scale_a: ptr(const(float32)) @ grid[1], scale_b: ptr(const(float32)) @ grid[1], rank: int32 @ block[1],
    product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1], rows: int32 @ grid[1], n: int32 @ grid[1],
    k: int32 @ grid[1],
):  # fmt: skip
    """Make the `sums` of a tile: as `multiply_blocks` where `BLOCKS` says that scales are of blocks, else as `multiply`.

    Test: tests/kernels/test_hgemm.py, tests/kernels/test_hgemm_scales.py
    """
    if BLOCKS.a > 0:
        multiply_blocks(
            sums, consumers, loader, fetcher, map_a, map_b, scale_a, scale_b, rank, product, i, j, rows, n, k, CUT=CUT,
            BLOCKS=BLOCKS, BATCH=BATCH,
        )  # fmt: skip
    else:
        multiply(sums, consumers, loader, map_a, map_b, rank, product, i, j, rows, n, k, CUT=CUT, BATCH=BATCH)


@prism.device
@template(CUT=constexpr(Cut), BLOCKS=constexpr(Blocks), BATCH=constexpr(int), T=dtype, TB=dtype)
@requires(block[1], thread["CUT.threads"])
def multiply_blocks(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps),
    loader: roles(warp, 1), fetcher: roles(warp, 1),
    map_a: const(CUtensorMap(T, CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    scale_a: ptr(const(float32)) @ grid[1], scale_b: ptr(const(float32)) @ grid[1], rank: int32 @ block[1],
    product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1], rows: int32 @ grid[1], n: int32 @ grid[1],
    k: int32 @ grid[1],
):  # fmt: skip
    """Make the `sums` of the tile at i, j of a product of `rows` by n, as `multiply` does, of factors that have scales.

    Perspective: block, the `rank`-th of its cluster; the fetcher brings the scales of each step, ahead as tiles are.
    Shapes:      `scale_a`: a number for each `BLOCKS.a` rows of A and each `DEPTH` of K, `scale_b` likewise for columns of
                 B: matrices without gaps, of rows (columns) by K, or of K by rows where `BLOCKS.outside_a`.
    Cost:        a product of a step waits for the one before it, in its warpgroup: others fill the time.
    Numerics:    of a step as the tensor cores add; steps are added in float32, in the order of K.
    Test:        tests/kernels/test_hgemm_scales.py
    """
    a: shared(T[CUT.rows_a, CUT.columns_a], ring=CUT.stages, swizzle=128)
    b: shared(TB[CUT.rows_b, CUT.columns_b], ring=CUT.stages, swizzle=CUT.span_b)
    factors: shared(float32[BLOCKS.factors], ring=CUT.stages)
    part: fragment(float32, 64, CUT.bn) @ warpgroup[1]
    BEHIND: constexpr(int) = min(2, CUT.stages - 1)  # steps whose scales are under way
    w: int32 @ warpgroup[1] = id()
    lane: int32 @ thread[1] = id() % 32

    @requires(block[1], thread["CUT.threads"])
    def fill(step: int32 @ block[1]):
        with claim(a, loader) as to_a, claim(b, loader) as to_b:
            load_tiles(to_a, to_b, map_a, map_b, rank, product, i, j, rows, n, k, step, CUT=CUT, BATCH=BATCH)
        with (
            claim(factors, fetcher, in_flight=BEHIND) as to, partition(to, thread[1], lambda e: 32 * e + lane) as mine,
            async_(mine) as coming, group(thread[1]),
        ):  # fmt: skip
            for e in range(0, BLOCKS.rounds_a, unroll=True):
                y: int64 = place_of(i, 32 * e + lane, rows, step, k, EACH=BLOCKS.a, OUTSIDE=BLOCKS.outside_a)
                cp_async(coming[e], scale_a[y], 4)
            for e in range(0, BLOCKS.rounds_b, unroll=True):
                x: int64 = place_of(j, 32 * e + lane, n, step, k, EACH=BLOCKS.b, OUTSIDE=BLOCKS.outside_b)
                cp_async(coming[BLOCKS.rounds_a + e], scale_b[x], 4)

    @requires(warp["CUT.warps"])
    def use(
        of_a: shared(T[CUT.rows_a, CUT.columns_a], swizzle=128) @ warp[CUT.warps],
        of_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[CUT.warps],
        of_factors: shared(float32[BLOCKS.factors]) @ warp[CUT.warps], step: int32 @ warp[CUT.warps],
    ):  # fmt: skip
        with group(warpgroup[1]):
            add_step(sums, part, of_a, of_b, of_factors, w, lane, i, j, CUT=CUT, BLOCKS=BLOCKS)

    with consumers, group(thread[1]):
        for e in range(count(sums)):
            sums[e] = 0
    grid.pipeline_of_three(
        a, b, factors, consumers, rank * CUT.bk if CUT.parts > 1 else 0, k, THREADS=CUT.threads, STEP=CUT.parts * CUT.bk,
        FILL=fill, USE=use, CLUSTER=1 if CUT.parts > 1 else CUT.cluster,
    )  # fmt: skip


@prism.device
@template(CUT=constexpr(Cut), BLOCKS=constexpr(Blocks), T=dtype, TB=dtype)
@requires(warpgroup[1])
def add_step(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], part: fragment(float32, 64, CUT.bn) @ warpgroup[1],
    of_a: shared(T[CUT.rows_a, CUT.columns_a], swizzle=128) @ warp[CUT.warps],
    of_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[CUT.warps],
    of_factors: shared(float32[BLOCKS.factors]) @ warp[CUT.warps], w: int32 @ warpgroup[1],
    lane: int32 @ thread[1], i: int32 @ block[1], j: int32 @ block[1],
):  # fmt: skip
    """Add a step's products to the `sums` of the `w`-th warpgroup, of the tile at i, j, by the scales `of_factors`.

    `part` is room for the products of 64 rows.

    Perspective: one warpgroup of the tile's.
    Test:        tests/kernels/test_hgemm_scales.py
    """
    FIRST_B: constexpr(int) = ROUND * BLOCKS.rounds_a
    COLUMNS: constexpr(int) = CUT.bn // 4 if BLOCKS.b == 1 else max(1, CUT.bn // HALF)  # scales that a thread has
    EACH: constexpr(int) = CUT.bn // 4 // COLUMNS
    of_columns: float32[COLUMNS] @ thread[1]  # scales are read before the product, which takes its time
    of_rows: float32[CUT.rows // 32] @ thread[1]
    upper: int32 @ warp[1] = CUT.rows * w + id() % 4 * 16
    with group(thread[1]):
        for e in range(0, COLUMNS):
            x: int32 = lane % 4 * 2 + e // 2 * 8 + e % 2 if BLOCKS.b == 1 else (j % DEPTH + HALF * e) // DEPTH
            of_columns[e] = of_factors[FIRST_B + x]
        for h in range(0, CUT.rows // 32):
            y: int32 = upper + h // 2 * 64 + h % 2 * 8 + lane // 4
            of_rows[h] = of_factors[y if BLOCKS.a == 1 else (i % DEPTH + y) // DEPTH]
    for r in range(0, CUT.rows, 64, unroll=True):
        wgmma(part, of_a[CUT.rows * w + r, 0], of_b, accumulate=False)
        with group(thread[1]):
            for x in range(0, CUT.bn // 4, EACH):  # columns of a thread that have one scale
                for h in range(0, 2):
                    factor: float32 = of_rows[r // 32 + h] * of_columns[x // EACH]
                    for q in range(x, x + EACH, unroll=True):
                        e: int32 = q // 2 * 4 + q % 2 + 2 * h
                        sums[r * CUT.bn // 128 + e] += factor * part[e]


@prism.device
@template(EACH=constexpr(int), OUTSIDE=constexpr(bool))
@requires(thread[1])
def place_of(
    first: int32 @ thread[1], e: int32 @ thread[1], extent: int32 @ thread[1], step: int32 @ thread[1], k: int32 @ thread[1]
) -> int64 @ thread[1]:
    """Return where the scale of a tile's `e`-th row, or block of rows, is: the tile begins at `first`, of so many rows.

    Beyond the last row it is the last one's.
    """
    most: int32 = (extent + (EACH - 1)) // EACH
    steps: int32 = (k + (DEPTH - 1)) // DEPTH
    y: int64 = min(most - 1, first // EACH + e)
    return step // DEPTH * int64(most) + y if OUTSIDE else y * steps + step // DEPTH

