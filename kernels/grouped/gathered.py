"""Products of groups of rows that an index takes: two warps gather them, 16 bytes a thread, while tiles are multiplied.

The rest is as in product.py. Rows are not in memory as a matrix at any time.
"""

from __future__ import annotations

from prism.kernels.grouped.schedule import Grouping, Place, Sizes, bound_of, in_groups
from prism.kernels.grouped.product import clear_of_none, load_matrix, store_group
from prism.kernels.hgemm.cut import Cut
from prism.kernels.hgemm.fused import Terms
from prism.kernels.hgemm.main_loop import multiply_tiles, share_registers
from prism.lang import (
    CUtensorMap, async_, attr, block, claim, const, constexpr, count, cp_async, dtype, float32, fragment, function, grid, group,
    id, int32, int64, one, partition, prefetch_map, prism, ptr, requires, roles, shared, template, thread, uint32,
    warp, warpgroup,
)  # fmt: skip


@prism.kernel
@template(
    T=dtype, TB=dtype, OUT=dtype, INDEX=dtype, TAKEN=dtype, CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms),
    GROUPING=constexpr(Grouping), EACH=constexpr(bool), EPILOGUE=function, SECOND=function, TRIM=constexpr(bool),
    DYNAMIC=constexpr(bool),
)  # fmt: skip
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def gathered_product(
    x: ptr(const(T)) @ grid[1], taken: ptr(const(TAKEN)) @ grid[1], apart: int64 @ grid[1], most: int32 @ grid[1],
    map_b: const(CUtensorMap(TB, 1, TILE.bn if TERMS.pair > 0 else CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(TB, 1, TILE.bn, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_out: CUtensorMap(OUT, 1, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ grid[1],
    map_second: CUtensorMap(OUT, 1, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], second: ptr(OUT) @ grid[1],
    counter: ptr(uint32) @ grid[1], partial: ptr(float32) @ grid[1], stride: int64 @ grid[1], bounds: ptr(const(INDEX)) @ grid[1],
    s: Sizes @ grid[1], once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1],
):  # fmt: skip
    """As `grouped_product` of the rows of `x` that `taken` numbers, of 0 to `most`; they are `apart` elements apart.

    Perspective: grid, of any number of blocks.
    Shapes:      `taken`: as many as the result has rows; the rest as of `grouped_product`.
    Numerics:    as `grouped_product`.
    Test:        tests/kernels/test_grouped.py, tests/gpu/test_grouped.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    first: int32 @ block[1] = id()
    with (
        partition(out, block[1], 0, races="none") as whole, partition(second, block[1], 0, races="none") as beside,
        partition(partial, block[1], 0, races="none") as unused, group(block[1]),
    ):  # fmt: skip
        sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1] = 0  # of those who have none of a tile's rows
        workers, helpers = roles(warpgroup, CUT.consumers, 1)
        consumers, gatherer, loader, storer = roles(warp, CUT.warps, 2, 1, 1)
        share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
        with loader, one(thread):
            prefetch_map(map_b)

        @requires(block[1], thread["CUT.threads"])
        def make_tile(at: Place @ block[1]):
            clear_of_none(sums, workers, s.k, CUT=CUT)
            multiply_gathered(
                sums, consumers, loader, gatherer, map_b, map_other, x, taken, apart, most, at, s, CUT=CUT, TILE=TILE, T=T, TB=TB,
                TAKEN=TAKEN, TRIM=TRIM, PAIR=TERMS.pair > 0,
            )  # fmt: skip
            store_group(
                sums, consumers, storer, storer, map_out, map_second, whole, beside, unused, stride, once, by_row,
                by_column, by_element, at, s, CUT=CUT, TILE=TILE, TERMS=TERMS, GROUPING=GROUPING, EACH=EACH, EPILOGUE=EPILOGUE,
                SECOND=SECOND,
            )  # fmt: skip

        in_groups(bounds, s, first, blocks, counter, loader, CUT=TILE, GROUPING=GROUPING, TILE=make_tile, DYNAMIC=DYNAMIC)


@prism.device
@template(
    CUT=constexpr(Cut), TILE=constexpr(Cut), T=dtype, TB=dtype, TAKEN=dtype, TRIM=constexpr(bool), PAIR=constexpr(bool),
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def multiply_gathered(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), loader: roles(warp, 1),
    gatherer: roles(warp, 2),
    map_b: const(CUtensorMap(TB, 1, TILE.bn if PAIR else CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(TB, 1, TILE.bn, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    x: ptr(const(T)) @ grid[1], taken: ptr(const(TAKEN)) @ grid[1], apart: int64 @ grid[1], most: int32 @ grid[1],
    at: Place @ block[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Make the `sums` of a tile of a group whose rows are gathered.

    Perspective: block; of each eight rows a thread of the gatherer copies 16 bytes of one.
    Test:        tests/kernels/test_grouped.py
    """
    a: shared(T[CUT.rows_a, CUT.columns_a], ring=CUT.stages, swizzle=128)
    b: shared(TB[CUT.rows_b, CUT.columns_b], ring=CUT.stages, swizzle=CUT.span_b)
    PIECE: constexpr(int) = CUT.bk // 8  # elements of 16 bytes
    BEHIND: constexpr(int) = 2 if CUT.stages > 3 else 1  # steps whose copies are under way
    t: int32 @ thread[1] = id() % 64
    begins: int64[CUT.bm // 8] @ thread[1]  # where rows t // 8, 8 + t // 8, ... begin
    with gatherer, group(thread[1]):
        for e in range(0, CUT.bm // 8):
            r: int32 = min(at.length - 1, at.i + 8 * e + t // 8)  # beyond the group any row will do
            begins[e] = bound_of(taken, at.end - at.length + r, most) * apart + PIECE * (t % 8)

    @requires(block[1], thread["CUT.threads"])
    def fill(step: int32 @ block[1]):
        with (
            claim(a, gatherer, in_flight=BEHIND) as to_a,
            partition(to_a, thread[1], lambda i: (8 * i + t // 8, PIECE * (t % 8))) as mine, async_(mine) as coming,
            group(thread[1]),
        ):  # fmt: skip
            valid: int32 = max(0, min(PIECE, s.k - step - PIECE * (t % 8))) * (16 // PIECE)
            for i in range(0, CUT.bm // 8, unroll=True):
                cp_async(coming[i], x[begins[i] + step], 16, valid)
        with claim(b, loader) as to_b:
            load_matrix(to_b, map_b, map_other, at, step, CUT=CUT, TILE=TILE, TB=TB, PAIR=PAIR)

    multiply_tiles(sums, a, b, consumers, 0, s.k, at.length - at.i, CUT=CUT, FILL=fill, TRIM=TRIM)
