"""Products of groups of rows on Hopper's tensor cores, each with a matrix of its own; or of groups of K, each with its result.

The main loop and what is made of sums are those of `prism.kernels.hgemm`. What is here: tiles that a warp finds on the device
(places.py), and tensor maps that end where a group does, by one axis more (prism/kernels/attention/packed.py). So what a tile reads
and writes is its group's alone, however many rows that has.
"""

from __future__ import annotations

from prism.kernels.grouped.places import Grouping, Place, Sizes, in_groups
from prism.kernels.hgemm.cut import Cut
from prism.kernels.hgemm.epilogue import store_plain
from prism.kernels.hgemm.fused import Terms, bring_records, round_fused
from prism.kernels.hgemm.main_loop import main_loop
from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, dtype, float32, fragment, function, grid, group, id, int32, int64,
    one, partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared, template, thread, tma_load, tma_store, warp,
    warpgroup,
)  # fmt: skip
from prism.lib.thread import operators


@prism("global")
@template(
    T=dtype, TB=dtype, OUT=dtype, INDEX=dtype, ONCE=dtype, ROW=dtype, COLUMN=dtype, ELEMENT=dtype, CUT=constexpr(Cut),
    TILE=constexpr(Cut), TERMS=constexpr(Terms), GROUPING=constexpr(Grouping), EACH=constexpr(bool), PLAIN=constexpr(bool),
    EPILOGUE=function,
)  # fmt: skip
@requires(grid[1], block[1], thread[CUT.threads])
@attr("__launch_bounds__(CUT.threads, 1)")
def grouped_product(
    map_a: const(CUtensorMap(T, 1, CUT.rows_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, 1, CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_out: CUtensorMap(OUT, 1, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ grid[1],
    partial: ptr(float32) @ grid[1], stride: int64 @ grid[1], bounds: ptr(const(INDEX)) @ grid[1], s: Sizes @ grid[1], once: ptr(const(ONCE)) @ grid[1],
    by_row: ptr(const(ROW)) @ grid[1], by_column: ptr(const(COLUMN)) @ grid[1], by_element: ptr(const(ELEMENT)) @ grid[1],
):  # fmt: skip
    """`out[i, j] = EPILOGUE(sum, 0, 0, once, by_row[i], by_column[j], by_element[i, j], i, j)`, of each group.

    Perspective: grid, of any number of blocks.
    Shapes:      `map_a`: of rows by K, with an axis before that says where a group ends; `map_b`: groups x n x k, or k x n where
                 `CUT.transpose_b`; `map_out` as `map_a`, of rows by n. Where `GROUPING.along_k`, `map_a` is of K by m, `map_b` of K
                 by n, both with that axis, and `map_out` of groups x m x n. Where `PLAIN` `out` is written instead, its rows
                 `stride` elements apart. `bounds`: where groups end, or how long they are where `GROUPING.apart`. Where `EACH`,
                 `by_column` has n records for each group. The row that EPILOGUE is told is the group's.
    Numerics:    sums as `hgemm`'s (prism/kernels/hgemm/persistent.py). A group of no K has sums of 0.
    Test:        tests/kernels/test_grouped.py, tests/gpu/test_grouped.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    first: int32 @ block[1] = id()
    with (
        partition(out, block[1], 0, races="none") as whole, partition(partial, block[1], 0, races="none") as unused,
        group(block[1]),
    ):  # fmt: skip
        sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1]
        workers, helpers = roles(warpgroup, CUT.consumers, 1)
        consumers, loader, fetcher, storer, scheduler = roles(warp, CUT.warps, 1, 1, 1, 1)
        if CUT.worker_registers > 0:
            with helpers:
                set_registers(CUT.helper_registers)
            with workers:
                set_registers(CUT.worker_registers)
        with loader, one(thread):
            prefetch_map(map_a)
            prefetch_map(map_b)

        @requires(block[1], thread[CUT.threads])
        def make_tile(at: Place @ block[1]):
            depth: int32 @ block[1] = at.length if GROUPING.along_k else s.k
            if depth == 0:
                with workers, group(thread[1]):
                    for e in range(count(sums)):
                        sums[e] = 0

            @requires(warp[1])
            def load(
                to_a: shared(T[CUT.rows_a, CUT.columns_a], swizzle=128) @ warp[1],
                to_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[1], step: int32 @ warp[1],
            ):  # fmt: skip
                with one(thread):
                    short: int32 @ thread[1] = s.room * (s.groups if GROUPING.apart else 1) - at.length
                    if GROUPING.along_k:
                        tma_load(to_a, map_a[at.end, short + step, at.i])
                        tma_load(to_b, map_b[at.end, short + step, at.j])
                    else:
                        tma_load(to_a, map_a[at.end, short + at.i, step])
                        tma_load(to_b, map_b[at.group, step if CUT.transpose_b else at.j, at.j if CUT.transpose_b else step])

            main_loop(sums, consumers, loader, 0, depth, CUT=CUT, T=T, TB=TB, LOAD=load)
            store_group(
                sums, consumers, fetcher, storer, map_out, whole, unused, stride, once, by_row, by_column, by_element, at, s, CUT=CUT,
                TILE=TILE, TERMS=TERMS, GROUPING=GROUPING, EACH=EACH, PLAIN=PLAIN, EPILOGUE=EPILOGUE,
            )  # fmt: skip

        in_groups(bounds, s, first, blocks, scheduler, CUT=TILE, GROUPING=GROUPING, TILE=make_tile)


@prism("device")
@template(
    CUT=constexpr(Cut), TILE=constexpr(Cut), TERMS=constexpr(Terms), GROUPING=constexpr(Grouping), OUT=dtype, ONCE=dtype,
    ROW=dtype, COLUMN=dtype, ELEMENT=dtype, EACH=constexpr(bool), PLAIN=constexpr(bool), EPILOGUE=function,
)  # fmt: skip
@requires(block[1], thread[CUT.threads])
def store_group(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), fetcher: roles(warp, 1),
    storer: roles(warp, 1),
    map_out: CUtensorMap(OUT, 1, TILE.slab_rows, TILE.slab_columns, swizzle=TILE.span) @ grid[1], out: ptr(OUT) @ block[1],
    partial: ptr(float32) @ block[1], stride: int64 @ grid[1], once: ptr(const(ONCE)) @ grid[1], by_row: ptr(const(ROW)) @ grid[1],
    by_column: ptr(const(COLUMN)) @ grid[1], by_element: ptr(const(ELEMENT)) @ grid[1], at: Place @ block[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Store a tile of a group: `EPILOGUE` of its sums, slab by slab.

    Perspective: block; the fetcher brings records of the next slabs, the consumers compute, the storer stores what they have.
    Cost:        `TILE.slabs` slabs, and two slabs' records by row and by column, in shared memory.
    Test:        tests/kernels/test_grouped.py
    """
    slab: shared(OUT[TILE.slab_rows, TILE.slab_columns], ring=TILE.slabs, swizzle=TILE.span)
    unused: shared(OUT[TILE.slab_rows, TILE.slab_columns], ring=TILE.slabs, swizzle=TILE.span)
    rows_in: shared(ROW[TILE.bm], ring=2)
    columns_in: shared(COLUMN[TILE.wide], ring=2)
    totals: float32[TILE.rows / 32] @ thread[1]
    lane: int32 @ thread[1] = id() % 32
    rows: int32 @ block[1] = s.m if GROUPING.along_k else at.length  # of the group's result
    before: int32 @ block[1] = at.group * s.m if GROUPING.along_k else at.end - at.length  # of all rows
    outer: int32 @ block[1] = at.group if GROUPING.along_k else at.end
    upper: int32 @ block[1] = at.i if GROUPING.along_k else s.room * (s.groups if GROUPING.apart else 1) - at.length + at.i
    for p in range(0, TILE.bn / TILE.slab, unroll=True):
        column: int32 @ block[1] = at.j + TILE.slab * p
        with claim(rows_in, fetcher) as ra, claim(columns_in, fetcher) as cb:
            if TERMS.rows:
                bring_records(ra, by_row, before + at.i, before + rows)
            if TERMS.columns:
                apart: int32 @ warp[1] = at.group * s.n if EACH else 0
                bring_records(cb, by_column, apart + column, apart + s.n)
        round_fused(
            slab, unused, rows_in, columns_in, sums, totals, consumers, partial, once, by_element, p, before, at.i, at.j, rows, s.n,
            0.0, CUT=CUT, TILE=TILE, TERMS=TERMS, EPILOGUE=EPILOGUE, SECOND=EPILOGUE, VALUE=EPILOGUE, COMBINE=operators.add,
        )  # fmt: skip
        if PLAIN:
            with claim(slab, storer) as done, claim(out, storer) as target:
                store_plain(done, target, stride, before, at.i, column, rows, s.n, lane)
        else:
            with claim(slab, storer) as done, one(thread):
                tma_store(map_out[outer, upper, column], done, disjoint=True)
