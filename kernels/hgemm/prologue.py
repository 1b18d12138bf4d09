"""What is done with A before it is multiplied: a function makes each of its elements, or an index says which rows are A's.

A function is applied in a pass of its own, which reads each element once, and not by those who multiply: these would make it
again for every tile of its row, and wait for it. Rows by an index alone are gathered while tiles are multiplied, as those of
groups are (kernels/grouped/gathered.py).
"""

from __future__ import annotations

from prism.kernels.grouped.gathered import multiply_gathered
from prism.kernels.grouped.schedule import Place, Sizes, bound_of
from prism.kernels.hgemm.cut import Cut
from prism.kernels.hgemm.fused import Terms, store_fused
from prism.kernels.hgemm.main_loop import share_registers
from prism.lang import (
    CUtensorMap, assume, attr, block, const, constexpr, count, dtype, float32, fragment, function, grid, group, id, int32,
    int64, load_vector, one, partition, prefetch_map, prism, ptr, requires, roles, store_vector, template, thread, uint32, vector,
    warp, warpgroup,
)  # fmt: skip

MAKERS = 256
"""Threads of a block that makes operands."""
EACH = 4
"""Elements, side by side, that a thread makes at a time."""
TIMES = 4
"""How often it does."""


@prism.kernel
@template(
    T=dtype, OUT=dtype, TAKEN=dtype, GATHERED=constexpr(bool), WIDE=constexpr(bool), WHOLE=constexpr(bool),
    TERMS=constexpr(Terms), PROLOGUE=function,
)  # fmt: skip
@requires(grid[1], block[1], thread[MAKERS])
@attr("__launch_bounds__(MAKERS)")
def make_operand(
    x: ptr(const(T)) @ grid[1], down: int64 @ grid[1], across: int64 @ grid[1], taken: ptr(const(TAKEN)) @ grid[1],
    most: int32 @ grid[1], once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], y: ptr(OUT) @ grid[1],
    pitch: int32 @ grid[1], m: int32 @ grid[1], k: int32 @ grid[1],
):  # fmt: skip
    """`y[i, kk] = PROLOGUE(x[i, kk], 0, 0, once[0], by_row[i], by_column[kk], by_element[i, kk], i, kk)`, rounded.

    Perspective: grid, of a block for each `MAKERS * EACH * TIMES` elements of m rows of `pitch` elements.
    Shapes:      `x[i * down + kk * across]`, or where `GATHERED` rows of these that `taken` numbers, of 0 to `most`. `y`: rows of
                 `pitch`, a multiple of `EACH` where `WHOLE`; what is beyond k there is not made, but for less than `EACH`
                 elements, which are then 0. Where `WIDE`, `EACH` elements of x lie side by side, at a multiple of their size.
    Cost:        one pass; `EACH` elements are one load, where `WIDE`, and one store.
    Test:        tests/kernels/test_hgemm_prologue.py, tests/gpu/test_hgemm_prologue.py
    """
    assume(m >= 1 and k >= 1 and pitch >= 1)
    words: uint32 @ grid[1] = (k + (EACH - 1)) // EACH  # of a row
    b: int64 @ block[1] = id()
    with partition(y, thread[1], lambda e: e, races="none") as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        numbers: TERMS.once @ thread[1] = once[0]
        with group(thread[1]):
            at: int64[TIMES]
            read: T[TIMES * EACH]
            for v in range(TIMES):  # all are read before one is stored: they wait once
                at[v] = (b * TIMES + v) * MAKERS + t
                i: int32 = at[v] // words
                first: int32 = at[v] % words * EACH
                if i < m:
                    row: int64 = i
                    if GATHERED:
                        row = bound_of(taken, i, most)
                    if WIDE and first + EACH <= k:
                        few: vector(T, EACH) = load_vector(x[row * down + first], EACH)
                        for e in range(EACH):
                            read[EACH * v + e] = few[e]
                    else:
                        for e in range(EACH):
                            if first + e < k:
                                read[EACH * v + e] = x[row * down + (first + e) * across]
            for v in range(TIMES):
                i: int32 = at[v] // words
                first: int32 = at[v] % words * EACH
                if i < m:
                    made: vector(OUT, EACH)
                    for e in range(EACH):
                        kk: int32 = first + e
                        made[e] = OUT(0)
                        if kk < k:
                            of_row: TERMS.row = TERMS.row()
                            of_column: TERMS.column = TERMS.column()
                            of_element: TERMS.element = TERMS.element()
                            if TERMS.rows:
                                of_row = by_row[i]
                            if TERMS.columns:
                                of_column = by_column[kk]
                            if TERMS.elements:
                                of_element = by_element[int64(i) * k + kk]
                            value: float32 = float32(read[EACH * v + e])
                            made[e] = OUT(PROLOGUE(value, 0.0, 0.0, numbers, of_row, of_column, of_element, i, kk))
                    if WHOLE:
                        store_vector(mine[int64(i) * pitch + first], made)
                    else:
                        for e in range(EACH):
                            if first + e < k:
                                mine[int64(i) * pitch + first + e] = made[e]


@prism.kernel
@template(
    T=dtype, TB=dtype, OUT=dtype, TAKEN=dtype, CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms),
    EPILOGUE=function, SECOND=function, VALUE=function, COMBINE=function, SCHEDULE=function,
)  # fmt: skip
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def hgemm_gathered(
    x: ptr(const(T)) @ grid[1], taken: ptr(const(TAKEN)) @ grid[1], apart: int64 @ grid[1], most: int32 @ grid[1],
    map_b: const(CUtensorMap(TB, 1, CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(TB, 1, TILE.bn, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_c: const(CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span)) @ grid[1],
    map_out: CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1],
    map_second: CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ grid[1],
    second: ptr(OUT) @ grid[1], partial: ptr(float32) @ grid[1], stride: int64 @ grid[1],
    once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], group_m: int32 @ grid[1], initial: float32 @ grid[1],
):  # fmt: skip
    """As `hgemm_fused` (fused.py) of the rows of `x` that `taken` numbers, of 0 to `most`; they are `apart` elements apart.

    Perspective: grid, of any number of blocks; `SCHEDULE` says which tiles each of them makes.
    Shapes:      `taken`: m. `map_b`: of one matrix, n x k, or k x n where `CUT.transpose_b`; `map_other`: none. The rest as
                 `hgemm_fused`'s.
    Cost:        as `hgemm_fused`'s; two warps gather rows, 16 bytes a thread.
    Numerics:    as `hgemm`'s.
    Test:        tests/kernels/test_hgemm_prologue.py, tests/gpu/test_hgemm_prologue.py
    """
    assume(m >= 1 and n >= 1 and group_m >= 1)
    tiles_m: int32 @ grid[1] = (m + (TILE.bm - 1)) // TILE.bm
    tiles_n: int32 @ grid[1] = (n + (TILE.bn - 1)) // TILE.bn
    blocks: int32 @ grid[1] = count(block[1])
    first: int32 @ block[1] = id()
    sizes: Sizes @ grid[1] = Sizes(1, m, m, n, k, 1)  # of one group
    with (
        partition(out, block[1], 0, races="none") as whole, partition(second, block[1], 0, races="none") as beside,
        partition(partial, block[1], 0, races="none") as combined, group(block[1]),
    ):  # fmt: skip
        sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1]
        workers, helpers = roles(warpgroup, CUT.consumers, 1)
        consumers, gatherer, loader, storer = roles(warp, CUT.warps, 2, 1, 1)
        share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
        with loader, one(thread):
            prefetch_map(map_b)

        @requires(block[1], thread["CUT.threads"])
        def make_tile(product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1]):
            at: Place @ block[1] = Place(0, m, m, i, j)
            multiply_gathered(
                sums, consumers, loader, gatherer, map_b, map_other, x, taken, apart, most, at, sizes, CUT=CUT, TILE=TILE, T=T,
                TB=TB, TAKEN=TAKEN, TRIM=False, PAIR=False,
            )  # fmt: skip
            store_fused(
                sums, consumers, storer, storer, map_c, map_out, map_second, whole, beside, combined, stride, once, by_row,
                by_column, by_element, product, i, j, m, n, 0, initial, CUT=CUT, TILE=TILE, TERMS=TERMS, BATCHED=False,
                EPILOGUE=EPILOGUE, SECOND=SECOND, VALUE=VALUE, COMBINE=COMBINE,
            )  # fmt: skip

        SCHEDULE(first, blocks, 0, tiles_m * tiles_n, tiles_m, tiles_n, 1, group_m, CUT=TILE, BATCHED=False, TILE=make_tile)


__all__ = ["EACH", "MAKERS", "TIMES", "hgemm_gathered", "make_operand"]
