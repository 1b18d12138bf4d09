"""Matrix multiplication whose epilogue is a function of a tile: of sums with their places, and of what other arrays have there.

The schedule and the main loop are those of `persistent.py`. What differs is what is done with the sums: a function is given each,
or those of two products, with elements of arrays by row, by column, by both, and numbers; what it makes is the result.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism.kernels.hgemm.scales import make_sums
from prism.kernels.hgemm.cut import NO_BLOCKS, Blocks, Cut
from prism.kernels.hgemm.epilogue import pack, store_plain
from prism.kernels.hgemm.main_loop import main_loop, prefetch_tiles, share_registers
from prism.lang import (
    CUtensorMap, assume, attr, bfloat16, block, claim, const, constexpr, count, dtype, float32, fragment, function, grid,
    group, id, int32, int64, ldmatrix, one, partition, prefetch_map, prism, ptr, requires, roles, shared,
    shuffle_xor, stmatrix, template, thread, tma_load, tma_store, uint32, unpack_bf16x2, unpack_f16x2, warp, warpgroup,
)  # fmt: skip
from prism.lang.types import FLOAT32, Scalar


@dataclass(frozen=True)
class Terms:
    """What an epilogue is given beside a sum: records by row, by column and by element, an array that tensor copies bring.

    `second`: a second result is made, as the first. `reduced`: a third function's values are combined, 1: of each row, 2: of each
    column. `pair`: 0: sums of one product; 1: of two, their columns side by side in a tile; 2: of two, 64 rows of each by turns.
    `trans`: records by element lie as those of the transpose of the kernel's result. `bits`: of an element of the result.
    `once`, `row`, `column`, `element`: the types of records. `plain`: results are stored without tensor maps. `sum`: the type of
    sums. `batch`: as `BATCH` of `hgemm`.
    """

    rows: bool = False
    columns: bool = False
    elements: bool = False
    loaded: bool = False
    second: bool = False
    reduced: int = 0
    pair: int = 0
    trans: bool = False
    bits: int = 16
    once: Scalar = FLOAT32
    row: Scalar = FLOAT32
    column: Scalar = FLOAT32
    element: Scalar = FLOAT32
    plain: bool = False
    sum: Scalar = FLOAT32
    batch: int = 0


@prism.kernel
@template(
    T=dtype, TB=dtype, OUT=dtype, CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms), EPILOGUE=function,
    SECOND=function, VALUE=function, COMBINE=function, SCHEDULE=function, BLOCKS=constexpr(Blocks, default=NO_BLOCKS),
)  # fmt: skip
@requires(grid[1], block["CUT.cluster"], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def hgemm_fused(
    map_a: const(CUtensorMap(T, 64 if TERMS.pair == 2 else CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, TILE.bn if TERMS.pair == 1 else CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(T, 64 if TERMS.pair == 2 else TILE.bn, CUT.bk, swizzle=128)) @ grid[1],
    map_c: const(CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span)) @ grid[1],
    map_out: CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1],
    map_second: CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ grid[1],
    second: ptr(OUT) @ grid[1], partial: ptr(float32) @ grid[1], stride: int64 @ grid[1],
    once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1],
    m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], group_m: int32 @ grid[1], prefetch_k: int32 @ grid[1],
    above: int32 @ grid[1], initial: float32 @ grid[1], scale_a: ptr(const(float32)) @ grid[1],
    scale_b: ptr(const(float32)) @ grid[1],
):  # fmt: skip
    """`out[i, j] = EPILOGUE(sum, other, c[i, j], once, by_row[i], by_column[j], by_element[i, j], i, j)`.

    Perspective: grid, of any number of clusters of `CUT.cluster` blocks; `SCHEDULE` says which tiles each of them makes.
    Shapes:      as `hgemm`'s, tiles of the result as `TILE` has them; `TERMS` says what is read. `above`: so many of the result's
                 rows, or columns where `TERMS.trans`, are before the first one in their records. Where `TERMS.pair`, `other` is
                 the sum of A and the B of `map_other`, or of its A and of B. `second`: as `out`, of what SECOND makes.
                 `partial`: what COMBINE makes of VALUE of the same, from `initial` on: where `TERMS.reduced` is 1, a number for
                 each row of each tile; where 2, for each column of what each warp has of a tile.
    Cost:        as `hgemm`; two slabs' records by row and by column in shared memory. Records by element are read in place.
    Numerics:    sums as `hgemm`'s; what comes after is EPILOGUE's.
    Test:        tests/kernels/test_hgemm_fused.py, tests/gpu/test_hgemm_fused.py
    """
    assume(m >= 1 and n >= 1 and group_m >= 1)
    BATCH: constexpr(int) = TERMS.batch
    rows: int32 @ grid[1] = group_m if BATCH > 0 else m  # of a product
    tiles_m: int32 @ grid[1] = (rows + (TILE.bm * CUT.cluster_m - 1)) // (TILE.bm * CUT.cluster_m)
    tiles_n: int32 @ grid[1] = (n + (TILE.bn * CUT.cluster_n - 1)) // (TILE.bn * CUT.cluster_n)
    tiles: int32 @ grid[1] = tiles_m * tiles_n
    products: int32 @ grid[1] = m // rows if BATCH > 0 else 1
    down: int32 @ grid[1] = tiles_m if BATCH > 0 else group_m  # tiles, before those at the right
    clusters: int32 @ grid[1] = count(block[CUT.cluster])
    first: int32 @ block[CUT.cluster] = id()
    with (
        partition(out, block[1], 0, races="none") as whole, partition(second, block[1], 0, races="none") as beside,
        partition(partial, block[1], 0, races="none") as combined, group(block[CUT.cluster]),
    ):  # fmt: skip
        rank: int32 @ block[1] = id()
        with group(block[1]):
            sums: fragment(TERMS.sum, CUT.rows, CUT.bn) @ warpgroup[1]
            workers, helpers = roles(warpgroup, CUT.consumers, 1)
            consumers, loader, fetcher, storer = roles(warp, CUT.warps, 1, 1, 1)
            share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
            with loader, one(thread):
                prefetch(map_a, map_b, map_other, first, tiles_m, tiles_n, prefetch_k, CUT=CUT, TILE=TILE, PAIR=TERMS.pair)

            @requires(block[1], thread["CUT.threads"])
            def make_tile(product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1]):
                multiply_one_or_two(
                    sums, consumers, loader, fetcher, map_a, map_b, map_other, scale_a, scale_b, rank, product, i, j, rows, n, k,
                    CUT=CUT, TILE=TILE, TERMS=TERMS, BLOCKS=BLOCKS,
                )  # fmt: skip
                store_fused(
                    sums, consumers, fetcher, storer, map_c, map_out, map_second, whole, beside, combined, stride, once, by_row,
                    by_column, by_element, product, i, j, rows, n, above, initial, CUT=CUT, TILE=TILE, TERMS=TERMS,
                    BATCHED=BATCH > 0, EPILOGUE=EPILOGUE, SECOND=SECOND, VALUE=VALUE, COMBINE=COMBINE,
                )  # fmt: skip

            SCHEDULE(first, clusters, rank, tiles, tiles_m, tiles_n, products, down, CUT=TILE, BATCHED=BATCH > 0, TILE=make_tile)


@prism.device
@template(CUT=constexpr(Cut), TILE=constexpr(Cut), PAIR=constexpr(int), T=dtype, TB=dtype)
@requires(thread[1])
def prefetch(
    map_a: const(CUtensorMap(T, 64 if PAIR == 2 else CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, TILE.bn if PAIR == 1 else CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(T, 64 if PAIR == 2 else TILE.bn, CUT.bk, swizzle=128)) @ grid[1],
    cluster: int32 @ thread[1], tiles_m: int32 @ grid[1], tiles_n: int32 @ grid[1], prefetch_k: int32 @ grid[1],
):  # fmt: skip
    """Bring the maps; of one product tiles too, as `prefetch_tiles` does."""
    if PAIR > 0:
        prefetch_map(map_a)
        prefetch_map(map_b)
        prefetch_map(map_other)
    else:
        prefetch_tiles(map_a, map_b, cluster, tiles_m, tiles_n, prefetch_k, CUT=CUT)


@prism.device
@template(
    CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms), BLOCKS=constexpr(Blocks), T=dtype, TB=dtype, SUM=dtype
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def multiply_one_or_two(
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), loader: roles(warp, 1),
    fetcher: roles(warp, 1),
    map_a: const(CUtensorMap(T, 64 if TERMS.pair == 2 else CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, TILE.bn if TERMS.pair == 1 else CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(T, 64 if TERMS.pair == 2 else TILE.bn, CUT.bk, swizzle=128)) @ grid[1],
    scale_a: ptr(const(float32)) @ grid[1], scale_b: ptr(const(float32)) @ grid[1], rank: int32 @ block[1],
    product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1], rows: int32 @ grid[1], n: int32 @ grid[1],
    k: int32 @ grid[1],
):  # fmt: skip
    """Make the `sums` of a tile: of two products where `TERMS.pair` says so, else as `make_sums` (scales.py).

    Test: tests/kernels/test_hgemm_fused.py
    """
    if TERMS.pair > 0:
        multiply_two(sums, consumers, loader, map_a, map_b, map_other, i, j, k, CUT=CUT, TILE=TILE, PAIR=TERMS.pair)
    else:
        make_sums(
            sums, consumers, loader, fetcher, map_a, map_b, scale_a, scale_b, rank, product, i, j, rows, n, k, CUT=CUT,
            BLOCKS=BLOCKS, BATCH=TERMS.batch,
        )  # fmt: skip


@prism.device
@template(CUT=constexpr(Cut), TILE=constexpr(Cut), PAIR=constexpr(int), T=dtype, TB=dtype, SUM=dtype)
@requires(block[1], thread["CUT.threads"])
def multiply_two(
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), loader: roles(warp, 1),
    map_a: const(CUtensorMap(T, 64 if PAIR == 2 else CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, TILE.bn if PAIR == 1 else CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(T, 64 if PAIR == 2 else TILE.bn, CUT.bk, swizzle=128)) @ grid[1],
    i: int32 @ block[1], j: int32 @ block[1], k: int32 @ grid[1],
):  # fmt: skip
    """Make the sums of a tile at i, j of two products, whose K is inside: of A and two B, or of two A and B.

    Perspective: block.
    Shapes:      where `PAIR` is 1 the sums' columns are of the one product and then of the other; where it is 2, 64 rows of the
                 one, 64 of the other, and so on.
    Test:        tests/kernels/test_hgemm_fused.py
    """

    @requires(warp[1])
    def load(
        to_a: shared(T[CUT.rows_a, CUT.columns_a], swizzle=128) @ warp[1],
        to_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[1], step: int32 @ warp[1],
    ):  # fmt: skip
        with one(thread):
            if PAIR == 2:
                for q in range(0, CUT.bm // 128, unroll=True):
                    tma_load(to_a[128 * q, 0], map_a[i + 64 * q, step])
                    tma_load(to_a[128 * q + 64, 0], map_other[i + 64 * q, step])
                tma_load(to_b[0, 0], map_b[j, step])
            else:
                tma_load(to_a[0, 0], map_a[step if CUT.transpose_a else i, i if CUT.transpose_a else step])
                tma_load(to_b[0, 0], map_b[j, step])
                tma_load(to_b[TILE.bn, 0], map_other[j, step])

    main_loop(sums, consumers, loader, 0, k, CUT=CUT, T=T, TB=TB, LOAD=load)


@prism.device
@template(
    CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms), OUT=dtype, SUM=dtype, BATCHED=constexpr(bool),
    EPILOGUE=function, SECOND=function, VALUE=function, COMBINE=function,
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def store_fused(
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), fetcher: roles(warp, 1),
    storer: roles(warp, 1),
    map_c: const(CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span)) @ grid[1],
    map_out: CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1],
    map_second: CUtensorMap(OUT, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ block[1],
    second: ptr(OUT) @ block[1], partial: ptr(float32) @ block[1], stride: int64 @ grid[1],
    once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1],
    product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1], rows: int32 @ grid[1], n: int32 @ grid[1],
    above: int32 @ grid[1], initial: float32 @ grid[1],
):  # fmt: skip
    """Store a tile, whose corner is at i, j of a result of `rows` by n: `EPILOGUE` of its sums, slab by slab.

    Perspective: block; the fetcher brings records of the next slabs, the consumers compute, the storer stores what they have.
    Cost:        `TILE.slabs` slabs of each result, and two slabs' records by row and by column, in shared memory.
    Test:        tests/kernels/test_hgemm_fused.py
    """
    slab: shared(OUT[TILE.slab_rows, TILE.slab_columns], ring=TILE.slabs, swizzle=TILE.span)
    slab_2: shared(OUT[TILE.slab_rows, TILE.slab_columns], ring=TILE.slabs, swizzle=TILE.span)
    rows_in: shared(TERMS.row[TILE.bm], ring=2)
    columns_in: shared(TERMS.column[TILE.wide], ring=2)
    totals: float32[TILE.rows // 32] @ thread[1]  # of the thread's rows
    top: int32 @ block[1] = product * (n if TILE.trans else rows)  # of the result
    lane: int32 @ thread[1] = id() % 32
    for s in range(0, TILE.bn // TILE.slab, unroll=True):
        column: int32 @ block[1] = j + TILE.slab * s
        upper: int32 @ block[1] = column if TILE.trans else i  # the slab's first row, and column, of the result
        left: int32 @ block[1] = i if TILE.trans else column
        if TERMS.loaded:
            with claim(slab, fetcher) as before, one(thread):
                tma_load(before, map_c[top + upper, left])
        with claim(rows_in, fetcher) as ra, claim(columns_in, fetcher) as cb:
            if TERMS.rows:
                bring_records(ra, by_row, i + (0 if TERMS.trans else above + top), rows + (0 if TERMS.trans else above + top))
            if TERMS.columns:
                bring_records(cb, by_column, column + (above if TERMS.trans else 0), n + (above if TERMS.trans else 0))
        round_fused(
            slab, slab_2, rows_in, columns_in, sums, totals, consumers, partial, once, by_element, s, top + above, i, j, rows, n,
            initial, CUT=CUT, TILE=TILE, TERMS=TERMS, EPILOGUE=EPILOGUE, SECOND=SECOND, VALUE=VALUE, COMBINE=COMBINE,
        )  # fmt: skip
        if TERMS.plain:
            with claim(slab, storer) as done, claim(out, storer) as target:
                store_plain(done, target, stride, top, upper, left, n if TILE.trans else rows, rows if TILE.trans else n, lane)
            if TERMS.second:
                with claim(slab_2, storer) as done, claim(second, storer) as target:
                    store_plain(
                        done, target, stride, top, upper, left, n if TILE.trans else rows, rows if TILE.trans else n, lane
                    )
        else:
            with claim(slab, storer) as done, one(thread):
                tma_store(map_out[top + upper, left], done, disjoint=BATCHED)
            if TERMS.second:
                with claim(slab_2, storer) as done, one(thread):
                    tma_store(map_second[top + upper, left], done, disjoint=BATCHED)


@prism.device
@template(
    CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms), OUT=dtype, SUM=dtype, EPILOGUE=function, SECOND=function,
    VALUE=function, COMBINE=function,
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def round_fused(
    slab: shared(OUT[TILE.slab_rows, TILE.slab_columns], ring=TILE.slabs, swizzle=TILE.span) @ block[1],
    slab_2: shared(OUT[TILE.slab_rows, TILE.slab_columns], ring=TILE.slabs, swizzle=TILE.span) @ block[1],
    rows_in: shared(TERMS.row[TILE.bm], ring=2) @ block[1], columns_in: shared(TERMS.column[TILE.wide], ring=2) @ block[1],
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], totals: float32[TILE.rows // 32] @ thread[1],
    consumers: roles(warp, CUT.warps), partial: ptr(float32) @ block[1], once: ptr(const(TERMS.once)) @ grid[1],
    by_element: ptr(const(TERMS.element)) @ grid[1], s: int32 @ block[1], before: int32 @ block[1], i: int32 @ block[1],
    j: int32 @ block[1], rows: int32 @ block[1], n: int32 @ grid[1], initial: float32 @ grid[1],
):  # fmt: skip
    """Make the tile's `s`-th slab: `EPILOGUE` of each of its sums, rounded; and what else is made of them.

    Perspective: block; each warp of the `consumers` makes the 16 rows that it has of each 64.
    Shapes:      the tile's corner is at i, j of a result of `rows` by n; `before`: rows of `by_element` before that. `totals`:
                 of a thread's rows, from slab to slab.
    Test:        tests/kernels/test_hgemm_fused.py
    """
    w: int32 @ warpgroup[1] = id()
    strip: int32 @ warp[1] = TILE.rows * w + id() % 4 * 16  # the warp's first row
    number: int32 @ warp[1] = 4 * w + id() % 4
    lane: int32 @ thread[1] = id() % 32
    column: int32 @ block[1] = j + TILE.slab * s
    line: int32 @ thread[1] = lane // 8 % 2 * 8 + (0 if TILE.trans else lane % 8)  # of the lane's piece, or row of it
    place: int32 @ thread[1] = lane // 16 % (TILE.pieces // 2) * 8 + (lane % 8 if TILE.trans else 0)
    numbers: TERMS.once @ thread[1] = once[0]
    with (
        claim(slab, consumers) as sc, claim(slab_2, consumers) as sc_2, claim(rows_in, consumers) as ra,
        claim(columns_in, consumers) as cb, claim(partial, consumers) as combined,
        partition(sc, warp[1], lambda y, x: (y if TILE.trans else strip + y, strip + x if TILE.trans else x)) as own,
        partition(sc_2, warp[1], lambda y, x: (y if TILE.trans else strip + y, strip + x if TILE.trans else x)) as own_2,
        partition(combined, warp[1], 0, races="none") as totals_out, group(warp[1]),
    ):  # fmt: skip
        down: float32[TILE.slab // 4] @ thread[1]  # of the thread's columns
        for r in range(0, TILE.rows, 64, unroll=True):
            for p in range(0, TILE.slab // (4 * TILE.pieces), unroll=True):  # so many elements at a time: they take registers
                words: uint32[TILE.pieces] @ thread[1]
                taken: float32[2 * TILE.pieces] @ thread[1]
                values: float32[2 * TILE.pieces] @ thread[1]
                values_2: float32[2 * TILE.pieces] @ thread[1]
                if TERMS.loaded:
                    load_piece(own, taken, words, r, p, lane, line, place, TILE=TILE, BITS=TERMS.bits)
                with group(thread[1]):
                    make_values(
                        values, values_2, totals, down, sums, taken, ra, cb, numbers, by_element, s, r, p, strip, before, i,
                        column, lane, rows, n, initial, CUT=CUT, TILE=TILE, TERMS=TERMS, EPILOGUE=EPILOGUE, SECOND=SECOND,
                        VALUE=VALUE, COMBINE=COMBINE,
                    )  # fmt: skip
                store_piece(own, values, words, r, p, lane, line, place, TILE=TILE, BITS=TERMS.bits)
                if TERMS.second:
                    store_piece(own_2, values_2, words, r, p, lane, line, place, TILE=TILE, BITS=TERMS.bits)
        if TERMS.reduced == 1 and s == TILE.bn // TILE.slab - 1:
            store_totals(totals_out, totals, j // TILE.bn, i + strip, rows, ROWS=True, COMBINE=COMBINE)
        if TERMS.reduced == 2:
            store_totals(totals_out, down, i // TILE.bm * CUT.warps + number, column, n, ROWS=False, COMBINE=COMBINE)


@prism.device
@template(OUT=dtype, TILE=constexpr(Cut), BITS=constexpr(int))
@requires(warp[1])
def load_piece(
    slab: shared(OUT[TILE.slab_rows, TILE.slab_columns], swizzle=TILE.span) @ warp[1],
    taken: float32[2 * TILE.pieces] @ thread[1], words: uint32[TILE.pieces] @ thread[1], r: int32 @ warp[1], p: int32 @ warp[1],
    lane: int32 @ thread[1], line: int32 @ thread[1], place: int32 @ thread[1],
):  # fmt: skip
    """Take what the warp's part of a slab has for its `p`-th values of rows from the `r`-th on, by `words` of two."""
    at: int32 @ thread[1] = 4 * TILE.pieces * p + place
    if BITS == 16:
        ldmatrix(slab[at if TILE.trans else r + line, r + line if TILE.trans else at], words, trans=TILE.trans)
        unpack(words, taken, OUT=OUT)
    else:
        with group(thread[1]):
            for q in range(0, 2 * TILE.pieces):
                g: int32 = 2 * TILE.pieces * p + q
                y: int32 = r + lane // 4 + g // 2 % 2 * 8
                x: int32 = lane % 4 * 2 + g // 4 * 8 + g % 2
                taken[q] = float32(slab[x if TILE.trans else y, y if TILE.trans else x])


@prism.device
@template(OUT=dtype, TILE=constexpr(Cut), BITS=constexpr(int))
@requires(warp[1])
def store_piece(
    slab: shared(OUT[TILE.slab_rows, TILE.slab_columns], swizzle=TILE.span) @ warp[1],
    values: float32[2 * TILE.pieces] @ thread[1], words: uint32[TILE.pieces] @ thread[1], r: int32 @ warp[1], p: int32 @ warp[1],
    lane: int32 @ thread[1], line: int32 @ thread[1], place: int32 @ thread[1],
):  # fmt: skip
    """Round the warp's `p`-th values into a slab, in the places that `load_piece` reads."""
    at: int32 @ thread[1] = 4 * TILE.pieces * p + place
    if BITS == 16:
        pack(values, words, 0, OUT=OUT)
        stmatrix(slab[at if TILE.trans else r + line, r + line if TILE.trans else at], words, trans=TILE.trans)
    else:
        v: int32 @ thread[1] = lane // 4
        u: int32 @ thread[1] = lane % 4 * 2
        with (
            partition(slab, thread[1], lambda y, x: (u + x if TILE.trans else v + y, v + y if TILE.trans else u + x)) as mine,
            group(thread[1]),
        ):
            for q in range(0, 2 * TILE.pieces):
                f: int32 = 2 * TILE.pieces * p + q
                mine[r + f // 2 % 2 * 8, f // 4 * 8 + f % 2] = OUT(values[q])


@prism.device
@template(
    CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms), SUM=dtype, EPILOGUE=function, SECOND=function,
    VALUE=function, COMBINE=function,
)  # fmt: skip
@requires(thread[1])
def make_values(
    values: float32[2 * TILE.pieces] @ thread[1], values_2: float32[2 * TILE.pieces] @ thread[1],
    totals: float32[TILE.rows // 32] @ thread[1], down: float32[TILE.slab // 4] @ thread[1],
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], taken: float32[2 * TILE.pieces] @ thread[1],
    ra: const(shared(TERMS.row[TILE.bm])) @ thread[32 * CUT.warps],
    cb: const(shared(TERMS.column[TILE.wide])) @ thread[32 * CUT.warps], numbers: TERMS.once @ thread[1],
    by_element: ptr(const(TERMS.element)) @ grid[1], s: int32 @ block[1], r: int32 @ warp[1], p: int32 @ warp[1],
    strip: int32 @ warp[1], before: int32 @ block[1], i: int32 @ block[1], column: int32 @ block[1],
    lane: int32 @ thread[1], rows: int32 @ block[1], n: int32 @ grid[1], initial: float32 @ grid[1],
):  # fmt: skip
    """Make a thread's `p`-th values of the slab from the `r`-th of its warp's rows on, and add up what is reduced of them."""
    for q in range(0, 2 * TILE.pieces):
        e: int32 = 2 * TILE.pieces * p + q
        y: int32 = r + lane // 4 + e // 2 % 2 * 8
        x: int32 = lane % 4 * 2 + e // 4 * 8 + e % 2
        at: int32 = (r // 64 * (CUT.rows // TILE.rows) * CUT.bn + TILE.slab * s) // 2 + e  # of the thread's sums
        sum: float32 = float32(sums[at])
        row: int32 = i + strip + y
        other: float32 = 0.0
        loaded: float32 = 0.0
        of_row: TERMS.row = TERMS.row()
        of_column: TERMS.column = TERMS.column()
        of_element: TERMS.element = TERMS.element()
        if TERMS.pair > 0:
            other = float32(sums[at + (CUT.bn // 4 if TERMS.pair == 1 else CUT.bn // 2)])
        if TERMS.loaded:
            loaded = taken[q]
        if TERMS.rows:
            of_row = ra[strip + y]
        if TERMS.columns:
            of_column = cb[x]
        if TERMS.elements:
            if row < rows and column + x < n:
                if TERMS.trans:
                    of_element = by_element[int64(before + column + x) * rows + row]
                else:
                    of_element = by_element[int64(before + row) * n + column + x]
        values[q] = EPILOGUE(sum, other, loaded, numbers, of_row, of_column, of_element, row, column + x)
        if TERMS.second:
            values_2[q] = SECOND(sum, other, loaded, numbers, of_row, of_column, of_element, row, column + x)
        if TERMS.reduced > 0:
            value: float32 = initial
            if row < rows and column + x < n:
                value = VALUE(sum, other, loaded, numbers, of_row, of_column, of_element, row, column + x)
            if TERMS.reduced == 1:
                add_value(totals, value, r // 32 + e // 2 % 2, s == 0 and e < 4 and e % 2 == 0, COMBINE=COMBINE)
            else:
                add_value(down, value, e // 4 * 2 + e % 2, r == 0 and e // 2 % 2 == 0, COMBINE=COMBINE)


@prism.device
@template(N=constexpr(int), COMBINE=function)
@requires(thread[1])
def add_value(
    totals: float32[N] @ thread[1], value: float32 @ thread[1], k: int32 @ thread[1], first: bool @ thread[1]
):
    """Combine a value with the `k`-th of totals, or begin it."""
    if first:
        totals[k] = value
    else:
        totals[k] = COMBINE(totals[k], value)


@prism.device
@template(N=constexpr(int), ROWS=constexpr(bool), COMBINE=function)
@requires(warp[1])
def store_totals(
    out: ptr(float32) @ warp[1], totals: float32[N] @ thread[1], part: int32 @ warp[1], first: int32 @ warp[1],
    extent: int32 @ block[1],
):  # fmt: skip
    """Store what a warp's threads have of its rows, or of columns, from the `first` on, as the `part`-th of each.

    Four threads have one of `ROWS`, eight have a column.
    """
    lane: int32 @ thread[1] = id() % 32
    for k in range(0, N, unroll=True):
        total: float32 @ thread[1] = totals[k]
        for bit in range(2 if ROWS else 3, unroll=True):
            total = COMBINE(total, shuffle_xor(total, (1 if ROWS else 4) << bit))
        at: int32 @ thread[1] = first + (k // 2 * 64 + k % 2 * 8 + lane // 4 if ROWS else lane % 4 * 2 + k // 2 * 8 + k % 2)
        has: bool @ thread[1] = lane % 4 == 0 if ROWS else lane < 4
        with partition(out, thread[1], int64(part) * extent + at, races="none") as mine, group(thread[1]):
            if has and at < extent:
                mine[0] = total


@prism.device
@template(OUT=dtype, PIECES=constexpr(int))
@requires(warp[1])
def unpack(words: uint32[PIECES] @ thread[1], values: float32[2 * PIECES] @ thread[1]):
    """Take words of two elements apart."""
    with group(thread[1]):
        for q in range(0, PIECES):
            values[2 * q] = unpack_bf16x2(words[q], 0) if OUT == bfloat16 else unpack_f16x2(words[q], 0)
            values[2 * q + 1] = unpack_bf16x2(words[q], 1) if OUT == bfloat16 else unpack_f16x2(words[q], 1)


@prism.device
@requires(warp[1])
@template(T=dtype, N=constexpr(int))
def bring_records(to: shared(T[N]) @ warp[1], x: ptr(const(T)) @ grid[1], first: int32 @ warp[1], size: int32 @ warp[1]):
    """Copy records of x, from the `first` on, those before the `size`-th."""
    lane: int32 @ thread[1] = id()
    with partition(to, thread[1], lambda e: 32 * e + lane) as mine, group(thread[1]):
        for e in range(0, N // 32, unroll=True):
            index: int32 = first + 32 * e + lane
            if index < size:
                mine[e] = x[index]
            else:
                mine[e] = T()
