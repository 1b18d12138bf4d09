"""Products of groups of rows on Hopper's tensor cores, each with a matrix of its own; or of groups of K, each with its result.

The main loop and what is made of sums are those of `prism.kernels.hgemm`. What is here: tiles that a warp finds on the device
(schedule.py), and tensor maps that end where a group does, by one axis more (prism/kernels/attention/packed.py). So what a tile
reads and writes is its group's alone, however many rows that has. Along K groups are read from their ends, by maps that begin
where one does.
"""

from __future__ import annotations

from prism.kernels.grouped.schedule import Grouping, Place, Sizes, in_groups
from prism.kernels.hgemm.cut import Cut
from prism.kernels.hgemm.epilogue import store_plain
from prism.kernels.hgemm.fused import Terms, bring_records, round_fused
from prism.kernels.hgemm.main_loop import main_loop, share_registers
from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, dtype, float32, fragment, function, grid, group,
    id, int32, int64, one, partition, prefetch_map, prism, ptr, requires, roles, shared, template, thread,
    tma_load, tma_store, uint32, warp, warpgroup,
)  # fmt: skip
from prism.lib.thread import operators


@prism.kernel
@template(
    T=dtype, TB=dtype, OUT=dtype, INDEX=dtype, CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms),
    GROUPING=constexpr(Grouping), EACH=constexpr(bool), EPILOGUE=function, SECOND=function, TRIM=constexpr(bool),
    DYNAMIC=constexpr(bool),
)  # fmt: skip
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def grouped_product(
    map_a: const(CUtensorMap(T, 1, CUT.rows_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, 1, TILE.bn if TERMS.pair > 0 else CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(TB, 1, TILE.bn, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_out: CUtensorMap(OUT, 1, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ grid[1],
    map_second: CUtensorMap(OUT, 1, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], second: ptr(OUT) @ grid[1],
    counter: ptr(uint32) @ grid[1], partial: ptr(float32) @ grid[1], stride: int64 @ grid[1], bounds: ptr(const(INDEX)) @ grid[1],
    s: Sizes @ grid[1], once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1],
):  # fmt: skip
    """`out[i, j] = EPILOGUE(sum, other, 0, once, by_row[i], by_column[j], by_element[i, j], i, j)`, of each group.

    Perspective: grid, of any number of blocks.
    Shapes:      `map_a`: of rows by K, with an axis before that says where a group ends; `map_b`: groups x n x k, or k x n
                 where `CUT.transpose_b`; `map_out` as `map_a`, of rows by n. Where `GROUPING.along_k`, `map_a` is of K by m,
                 `map_b` of K by n, both with an axis before that says where a group begins, and `map_out` of groups x m x n.
                 Where `TERMS.plain` `out` is written instead, its rows `stride` elements apart. `second`: as
                 `out`, of what SECOND makes. `bounds`: where groups end, or how long they are where `GROUPING.apart`. Where
                 `EACH`, `by_column` has n records for each group. The row that EPILOGUE is told is the group's. Where
                 `TERMS.pair`, `other` is the sum with `map_other`, which is as `map_b`. Where `TRIM`, warpgroups that have no
                 rows make no products.
    Numerics:    sums as `hgemm`'s (prism/kernels/hgemm/persistent.py). A group of no K has sums of 0.
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
        consumers, loader, fetcher, storer = roles(warp, CUT.warps, 1, 1, 1)
        share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
        with loader, one(thread):
            prefetch_map(map_a)
            prefetch_map(map_b)

        @requires(block[1], thread["CUT.threads"])
        def make_tile(at: Place @ block[1]):
            depth: int32 @ block[1] = at.length if GROUPING.along_k else s.k
            clear_of_none(sums, workers, depth, CUT=CUT)
            multiply_group(
                sums, consumers, loader, map_a, map_b, map_other, at, depth, s, CUT=CUT, TILE=TILE, T=T, TB=TB,
                GROUPING=GROUPING, TRIM=TRIM, PAIR=TERMS.pair > 0,
            )  # fmt: skip
            store_group(
                sums, consumers, fetcher, storer, map_out, map_second, whole, beside, unused, stride, once, by_row,
                by_column, by_element, at, s, CUT=CUT, TILE=TILE, TERMS=TERMS, GROUPING=GROUPING, EACH=EACH, EPILOGUE=EPILOGUE,
                SECOND=SECOND,
            )  # fmt: skip

        in_groups(bounds, s, first, blocks, counter, loader, CUT=TILE, GROUPING=GROUPING, TILE=make_tile, DYNAMIC=DYNAMIC)


@prism.device
@template(CUT=constexpr(Cut))
@requires(block[1], thread["CUT.threads"])
def clear_of_none(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], workers: roles(warpgroup, CUT.consumers), depth: int32 @ block[1],
):  # fmt: skip
    """Clear the sums where there is no K: the main loop makes no product that would."""
    if depth == 0:
        with workers, group(thread[1]):
            for e in range(count(sums)):
                sums[e] = 0


@prism.device
@template(GROUPING=constexpr(Grouping))
@requires(thread[1])
def short_of(s: Sizes @ thread[1], length: int32 @ thread[1]) -> int32 @ thread[1]:
    """How many rows a group has less than there are: where it begins in a map that ends where it does."""
    return (s.room * s.groups if GROUPING.apart else s.room) - length


@prism.device
@template(CUT=constexpr(Cut), TILE=constexpr(Cut), TB=dtype, PAIR=constexpr(bool))
@requires(warp[1])
def load_matrix(
    to_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[1],
    map_b: const(CUtensorMap(TB, 1, TILE.bn if PAIR else CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(TB, 1, TILE.bn, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1], at: Place @ warp[1],
    step: int32 @ warp[1],
):  # fmt: skip
    """Load a step of a group's matrix; of a pair, whose K is inside, of both, below each other."""
    with one(thread):
        if PAIR:
            tma_load(to_b[0, 0], map_b[at.group, at.j, step])
            tma_load(to_b[TILE.bn, 0], map_other[at.group, at.j, step])
        else:
            tma_load(to_b, map_b[at.group, step if CUT.transpose_b else at.j, at.j if CUT.transpose_b else step])


@prism.device
@template(
    CUT=constexpr(Cut), TILE=constexpr(Cut), T=dtype, TB=dtype, GROUPING=constexpr(Grouping), TRIM=constexpr(bool),
    PAIR=constexpr(bool),
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def multiply_group(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), loader: roles(warp, 1),
    map_a: const(CUtensorMap(T, 1, CUT.rows_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, 1, TILE.bn if PAIR else CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_other: const(CUtensorMap(TB, 1, TILE.bn, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1], at: Place @ block[1],
    depth: int32 @ block[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Make the `sums` of a tile of a group, over `depth` of K.

    Perspective: block.
    Test:        tests/kernels/test_grouped.py
    """

    @requires(warp[1])
    def load(
        to_a: shared(T[CUT.rows_a, CUT.columns_a], swizzle=128) @ warp[1],
        to_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[1], step: int32 @ warp[1],
    ):  # fmt: skip
        with one(thread):
            if GROUPING.along_k:  # from the end: what is before the group's first row is zeros
                last: int32 @ thread[1] = at.length - step - CUT.bk
                tma_load(to_a, map_a[at.end - at.length, last, at.i])
                tma_load(to_b, map_b[at.end - at.length, last, at.j])
            else:
                tma_load(to_a, map_a[at.end, short_of(s, at.length, GROUPING=GROUPING) + at.i, step])
        if not GROUPING.along_k:
            load_matrix(to_b, map_b, map_other, at, step, CUT=CUT, TILE=TILE, TB=TB, PAIR=PAIR)

    main_loop(sums, consumers, loader, 0, depth, at.length - at.i, CUT=CUT, T=T, TB=TB, LOAD=load, TRIM=TRIM)


@prism.device
@template(
    CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms), GROUPING=constexpr(Grouping), OUT=dtype,
    EACH=constexpr(bool), EPILOGUE=function, SECOND=function,
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def store_group(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), fetcher: roles(warp, 1),
    storer: roles(warp, 1),
    map_out: CUtensorMap(OUT, 1, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1],
    map_second: CUtensorMap(OUT, 1, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ block[1],
    second: ptr(OUT) @ block[1],
    partial: ptr(float32) @ block[1], stride: int64 @ grid[1], once: ptr(const(TERMS.once)) @ grid[1],
    by_row: ptr(const(TERMS.row)) @ grid[1], by_column: ptr(const(TERMS.column)) @ grid[1],
    by_element: ptr(const(TERMS.element)) @ grid[1],
    at: Place @ block[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Store a tile of a group: `EPILOGUE` of its sums, slab by slab, and what `SECOND` makes, where there is a second result.

    Perspective: block; the fetcher brings records of the next slabs, the consumers compute, the storer stores what they have.
    Cost:        `TILE.slabs` slabs, and two slabs' records by row and by column, in shared memory.
    Test:        tests/kernels/test_grouped.py
    """
    slab: shared(OUT[TILE.slab_rows, TILE.slab_columns], ring=TILE.slabs, swizzle=TILE.span)
    slab_2: shared(OUT[TILE.slab_rows, TILE.slab_columns], ring=TILE.slabs, swizzle=TILE.span)
    rows_in: shared(TERMS.row[TILE.bm], ring=2)
    columns_in: shared(TERMS.column[TILE.wide], ring=2)
    totals: float32[TILE.rows // 32] @ thread[1]
    lane: int32 @ thread[1] = id() % 32
    rows: int32 @ block[1] = s.m if GROUPING.along_k else at.length  # of the group's result
    before: int32 @ block[1] = at.group * s.m if GROUPING.along_k else at.end - at.length  # of all rows
    outer: int32 @ block[1] = at.group if GROUPING.along_k else at.end
    upper: int32 @ block[1] = at.i + (0 if GROUPING.along_k else short_of(s, at.length, GROUPING=GROUPING))
    for p in range(0, TILE.bn // TILE.slab, unroll=True):
        column: int32 @ block[1] = at.j + TILE.slab * p
        with claim(rows_in, fetcher) as ra, claim(columns_in, fetcher) as cb:
            if TERMS.rows:
                bring_records(ra, by_row, before + at.i, before + rows)
            if TERMS.columns:
                apart: int32 @ warp[1] = at.group * s.n if EACH else 0
                bring_records(cb, by_column, apart + column, apart + s.n)
        round_fused(
            slab, slab_2, rows_in, columns_in, sums, totals, consumers, partial, once, by_element, p, before, at.i, at.j, rows,
            s.n, 0.0, CUT=CUT, TILE=TILE, TERMS=TERMS, EPILOGUE=EPILOGUE, SECOND=SECOND, VALUE=EPILOGUE, COMBINE=operators.add,
        )  # fmt: skip
        if TERMS.plain:
            with claim(slab, storer) as done, claim(out, storer) as target:
                store_plain(done, target, stride, before, at.i, column, rows, s.n, lane)
            if TERMS.second:
                with claim(slab_2, storer) as done, claim(second, storer) as target:
                    store_plain(done, target, stride, before, at.i, column, rows, s.n, lane)
        else:
            with claim(slab, storer) as done, one(thread):
                if column < s.n:  # else the engine touches where the map begins, and there is no memory
                    tma_store(map_out[outer, upper, column], done, disjoint=True)
            if TERMS.second:
                with claim(slab_2, storer) as done, one(thread):
                    if column < s.n:
                        tma_store(map_second[outer, upper, column], done, disjoint=True)
