"""Matrix multiplication with a prologue: a function makes each element of A on its way, or an index says which rows are A's.

Schedule, pipeline and epilogue are those of every product (`fused.py`). What differs is how a step's tile of A is filled, and
what the consumers do with it: they make the operand of their product in registers, so that A may be of any numbers in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism.kernels.hgemm.cut import Cut
from prism.kernels.hgemm.fused import Terms, store_fused
from prism.kernels.hgemm.main_loop import share_registers
from prism.lang import (
    CUtensorMap, assume, async_, attr, bitcast, block, claim, const, constexpr, count, cp_async, dtype, float32, fragment,
    function, grid, group, id, int32, int64, ldmatrix, load_vector, one, partition, prefetch_map, prism, ptr, requires, roles,
    shared, template, thread, tma_load, uint32, vector, warp, warpgroup, wgmma,
)  # fmt: skip

LANES = 64
"""Threads that gather rows, 16 bytes each."""


@dataclass(frozen=True)
class Source:
    """What A is in memory: elements of `size` bytes; its rows are `gathered` by an index; a function makes what is multiplied.

    `made`: there is such a function. `span`: bytes of a tile's row that pieces are permuted in.
    """

    size: int = 2
    gathered: bool = False
    made: bool = True
    span: int = 128

    @property
    def gatherers(self) -> int:
        """Warps that gather rows; one more helper, where there is nothing to gather."""
        return 2 if self.gathered else 1

    @property
    def piece(self) -> int:
        """Elements of 16 bytes."""
        return 16 // self.size


@prism.kernel
@template(
    TA=dtype, TB=dtype, OUT=dtype, TAKEN=dtype, CUT=constexpr(Cut), TILE=constexpr(Cut), SOURCE=constexpr(Source),
    BEFORE=constexpr(Terms), TERMS=constexpr(Terms), PROLOGUE=function, EPILOGUE=function, SECOND=function, VALUE=function,
    COMBINE=function, SCHEDULE=function,
)  # fmt: skip
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def hgemm_prologue(
    map_a: const(CUtensorMap(TA, CUT.bm, CUT.bk, swizzle=SOURCE.span)) @ grid[1], x: ptr(const(TA)) @ grid[1],
    taken: ptr(const(TAKEN)) @ grid[1], apart: int64 @ grid[1], most: int32 @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_c: const(CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span)) @ grid[1],
    map_out: CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1],
    map_second: CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ grid[1],
    second: ptr(OUT) @ grid[1], partial: ptr(float32) @ grid[1], stride: int64 @ grid[1],
    a_once: ptr(const(BEFORE.once)) @ grid[1], a_by_row: ptr(const(BEFORE.row)) @ grid[1],
    a_by_column: ptr(const(BEFORE.column)) @ grid[1], a_by_element: ptr(const(BEFORE.element)) @ grid[1],
    once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], group_m: int32 @ grid[1], initial: float32 @ grid[1],
):  # fmt: skip
    """As `hgemm_fused` of `PROLOGUE(A[i, kk], 0, 0, a_once, a_by_row[i], a_by_column[kk], a_by_element[i, kk], i, kk)` for A.

    Perspective: grid, of any number of blocks; `SCHEDULE` says which tiles each of them makes.
    Shapes:      `map_a`: m x k, K inside. Where `SOURCE.gathered`, A's i-th row is the one of `x` that `taken[i]` numbers, of 0
                 to `most`; they are `apart` elements apart. `map_b`: n x k, or k x n where `CUT.transpose_b`; the rest as
                 `hgemm_fused`'s. Where not `SOURCE.made`, A is multiplied as it is, and its type is `TB`. Beyond k elements of
                 A are zeros, whatever PROLOGUE makes of zeros. `BEFORE`: what PROLOGUE is given, as `TERMS` says of EPILOGUE.
    Cost:        as `hgemm_fused`; each element of A is made once for each tile of its row, by who multiplies it.
    Numerics:    what PROLOGUE makes is rounded to `TB`; sums as `hgemm`'s.
    Test:        tests/kernels/test_hgemm_prologue.py, tests/gpu/test_hgemm_prologue.py
    """
    assume(m >= 1 and n >= 1 and group_m >= 1)
    tiles_m: int32 @ grid[1] = (m + (TILE.bm - 1)) // TILE.bm
    tiles_n: int32 @ grid[1] = (n + (TILE.bn - 1)) // TILE.bn
    blocks: int32 @ grid[1] = count(block[1])
    first: int32 @ block[1] = id()
    with (
        partition(out, block[1], 0, races="none") as whole, partition(second, block[1], 0, races="none") as beside,
        partition(partial, block[1], 0, races="none") as combined, group(block[1]),
    ):  # fmt: skip
        sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1]
        workers, helpers = roles(warpgroup, CUT.consumers, 1)
        consumers, gatherer, loader, storer = roles(warp, CUT.warps, SOURCE.gatherers, 1, 1)
        share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
        with loader, one(thread):
            prefetch_map(map_b)

        @requires(block[1], thread["CUT.threads"])
        def make_tile(product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1]):
            multiply_made(
                sums, consumers, gatherer, loader, map_a, x, taken, apart, most, map_b, a_once, a_by_row, a_by_column,
                a_by_element, i, j, m, k, CUT=CUT, SOURCE=SOURCE, BEFORE=BEFORE, PROLOGUE=PROLOGUE,
            )  # fmt: skip
            if SOURCE.gathered:
                store_fused(
                    sums, consumers, storer, storer, map_c, map_out, map_second, whole, beside, combined, stride, once, by_row,
                    by_column, by_element, product, i, j, m, n, 0, initial, CUT=CUT, TILE=TILE, TERMS=TERMS, BATCHED=False,
                    EPILOGUE=EPILOGUE, SECOND=SECOND, VALUE=VALUE, COMBINE=COMBINE,
                )  # fmt: skip
            else:
                store_fused(
                    sums, consumers, gatherer, storer, map_c, map_out, map_second, whole, beside, combined, stride, once, by_row,
                    by_column, by_element, product, i, j, m, n, 0, initial, CUT=CUT, TILE=TILE, TERMS=TERMS, BATCHED=False,
                    EPILOGUE=EPILOGUE, SECOND=SECOND, VALUE=VALUE, COMBINE=COMBINE,
                )  # fmt: skip

        SCHEDULE(first, blocks, 0, tiles_m * tiles_n, tiles_m, tiles_n, 1, group_m, CUT=TILE, BATCHED=False, TILE=make_tile)


@prism.device
@template(
    TA=dtype, TB=dtype, TAKEN=dtype, CUT=constexpr(Cut), SOURCE=constexpr(Source), BEFORE=constexpr(Terms), PROLOGUE=function,
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def multiply_made(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps),
    gatherer: roles(warp, SOURCE.gatherers), loader: roles(warp, 1),
    map_a: const(CUtensorMap(TA, CUT.bm, CUT.bk, swizzle=SOURCE.span)) @ grid[1], x: ptr(const(TA)) @ grid[1],
    taken: ptr(const(TAKEN)) @ grid[1], apart: int64 @ grid[1], most: int32 @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    a_once: ptr(const(BEFORE.once)) @ grid[1], a_by_row: ptr(const(BEFORE.row)) @ grid[1],
    a_by_column: ptr(const(BEFORE.column)) @ grid[1], a_by_element: ptr(const(BEFORE.element)) @ grid[1], i: int32 @ block[1],
    j: int32 @ block[1], m: int32 @ grid[1], k: int32 @ grid[1],
):  # fmt: skip
    """Make the `sums` of the tile at i, j, of what `PROLOGUE` makes of A, or of A's rows as they are.

    Perspective: block; of A's tile a thread of the gatherer copies 16 bytes of each few rows, or the loader asks for all of it.
    Test:        tests/kernels/test_hgemm_prologue.py
    """
    a: shared(TA[CUT.bm, CUT.bk], ring=CUT.stages, swizzle=SOURCE.span)
    b: shared(TB[CUT.rows_b, CUT.columns_b], ring=CUT.stages, swizzle=CUT.span_b)
    operand: fragment(TB, 64, CUT.bk) @ warpgroup[1] = 0
    PIECES: constexpr(int) = CUT.bk // SOURCE.piece  # of a row of the tile
    ROUND: constexpr(int) = LANES // PIECES  # rows that are copied at a time
    BEHIND: constexpr(int) = 2 if CUT.stages > 3 else 1  # steps whose copies are under way
    t: int32 @ thread[1] = id() % LANES
    rows: int32[CUT.bm // ROUND if SOURCE.gathered else 1] @ thread[1]
    w: int32 @ warpgroup[1] = id()
    lane: int32 @ thread[1] = id() % 32
    of_rows: BEFORE.row[2] @ thread[1]
    upper: int32 @ warp[1] = CUT.rows * w + id() % 4 * 16
    if SOURCE.gathered:
        with gatherer, group(thread[1]):
            for e in range(0, CUT.bm // ROUND):
                at: int32 = min(m - 1, i + ROUND * e + t // PIECES)  # beyond the last row any will do
                rows[e] = int32(max(TAKEN(0), min(TAKEN(most), taken[at])))
    if BEFORE.rows:
        with consumers, group(thread[1]):
            for h in range(0, 2):
                of_rows[h] = a_by_row[min(m - 1, i + upper + lane // 4 + 8 * h)]

    @requires(block[1], thread["CUT.threads"])
    def fill(step: int32 @ block[1]):
        if SOURCE.gathered:
            with (
                claim(a, gatherer, in_flight=BEHIND) as to_a,
                partition(to_a, thread[1], lambda e: (ROUND * e + t // PIECES, SOURCE.piece * (t % PIECES))) as mine,
                async_(mine) as coming, group(thread[1]),
            ):  # fmt: skip
                first: int32 = step + SOURCE.piece * (t % PIECES)
                valid: int32 = max(0, min(SOURCE.piece, k - first)) * SOURCE.size
                for e in range(0, CUT.bm // ROUND, unroll=True):
                    cp_async(coming[e], x[rows[e] * apart + first], 16, valid)
        else:
            with claim(a, loader) as to_a, one(thread):
                tma_load(to_a, map_a[i, step])
        with claim(b, loader) as to_b, one(thread):
            tma_load(to_b, map_b[step if CUT.transpose_b else j, j if CUT.transpose_b else step])

    @requires(warp["CUT.warps"])
    def use(
        of_a: shared(TA[CUT.bm, CUT.bk], swizzle=SOURCE.span) @ warp[CUT.warps],
        of_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[CUT.warps], step: int32 @ warp[CUT.warps],
    ):  # fmt: skip
        with group(warpgroup[1]):
            if SOURCE.made:
                make_operand(
                    operand, of_a, of_rows, a_once, a_by_column, a_by_element, i, upper, step, m, k, lane, CUT=CUT, SOURCE=SOURCE,
                    BEFORE=BEFORE, PROLOGUE=PROLOGUE,
                )  # fmt: skip
                wgmma(sums, operand, of_b, transpose_b=CUT.transpose_b, accumulate=step > 0)
            else:
                wgmma(sums, of_a[CUT.rows * w, 0], of_b, transpose_b=CUT.transpose_b, accumulate=step > 0)

    grid.pipeline(a, b, consumers, 0, k, THREADS=CUT.threads, STEP=CUT.bk, FILL=fill, USE=use)


@prism.device
@template(TA=dtype, TB=dtype, CUT=constexpr(Cut), SOURCE=constexpr(Source), BEFORE=constexpr(Terms), PROLOGUE=function)
@requires(warpgroup[1])
def make_operand(
    operand: fragment(TB, 64, CUT.bk) @ warpgroup[1], of_a: shared(TA[CUT.bm, CUT.bk], swizzle=SOURCE.span) @ warp[CUT.warps],
    of_rows: BEFORE.row[2] @ thread[1], a_once: ptr(const(BEFORE.once)) @ grid[1],
    a_by_column: ptr(const(BEFORE.column)) @ grid[1], a_by_element: ptr(const(BEFORE.element)) @ grid[1], i: int32 @ block[1],
    upper: int32 @ warp[1], step: int32 @ warp[CUT.warps], m: int32 @ grid[1], k: int32 @ grid[1], lane: int32 @ thread[1],
):  # fmt: skip
    """Make the operand of a warpgroup's product of a step: what `PROLOGUE` makes of its 64 rows of A's tile, at row `i`.

    Perspective: one warpgroup of the tile's; a warp has 16 rows, from its `upper` on, and each thread two of them.
    Test:        tests/kernels/test_hgemm_prologue.py
    """
    numbers: BEFORE.once @ thread[1] = a_once[0]
    words: uint32[4] @ thread[1]
    for q in range(0, CUT.bk // 16, unroll=True):
        if SOURCE.size == 2:
            ldmatrix(of_a[upper + lane % 16, 16 * q + lane // 16 * 8], words)
        with group(thread[1]):
            for p in range(0, 4):
                h: int32 = p % 2
                column: int32 = 16 * q + p // 2 * 8 + lane % 4 * 2
                row: int32 = min(m - 1, i + upper + lane // 4 + 8 * h)
                both: vector(TA, 2)
                if SOURCE.size == 2:
                    both = bitcast(words[p], vector(TA, 2))
                else:
                    both = load_vector(of_a[upper + lane // 4 + 8 * h, column], 2)
                for e in range(0, 2):
                    kk: int32 = min(k - 1, step + column + e)
                    of_row: BEFORE.row = BEFORE.row()
                    of_column: BEFORE.column = BEFORE.column()
                    of_element: BEFORE.element = BEFORE.element()
                    if BEFORE.rows:
                        of_row = of_rows[h]
                    if BEFORE.columns:
                        of_column = a_by_column[kk]
                    if BEFORE.elements:
                        of_element = a_by_element[int64(row) * k + kk]
                    operand[8 * q + 2 * p + e] = TB(
                        PROLOGUE(float32(both[e]), 0.0, 0.0, numbers, of_row, of_column, of_element, row, kk)
                    )
    if step + CUT.bk > k:
        with group(thread[1]):
            for e in range(0, count(operand)):
                if step + e // 8 * 16 + e // 4 % 2 * 8 + lane % 4 * 2 + e % 2 >= k:
                    operand[e] = 0


__all__ = ["Source", "hgemm_prologue"]
