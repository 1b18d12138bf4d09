"""The main loop of a product: one role fills a ring of tiles of A and one of B, the other multiplies what they have."""

from __future__ import annotations

from prism.kernels.hgemm.cut import Cut
from prism.lang import (
    CUtensorMap, block, claim, const, constexpr, dtype, fragment, function, grid, group, id, int32, one, prefetch_map,
    prism, requires, roles, set_registers, shared, template, thread, tma_load, tma_prefetch, warp, warpgroup, wgmma,
)  # fmt: skip


@prism.device
@template(MANY=constexpr(int), FEW=constexpr(int), WORKERS=constexpr(int), HELPERS=constexpr(int))
@requires(block[1], thread[128])
def share_registers(workers: roles(warpgroup, WORKERS), helpers: roles(warpgroup, HELPERS)):
    """Give each thread of the `workers` so `MANY` registers, and the helpers' as `FEW`; 0: leave them as they are."""
    if MANY > 0:
        with helpers:
            set_registers(FEW)
        with workers:
            set_registers(MANY)


@prism.device
@template(CUT=constexpr(Cut), T=dtype, TB=dtype, SUM=dtype, LOAD=function, TRIM=constexpr(bool, default=False))
@requires(block[1], thread["CUT.threads"])
def main_loop(
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), loader: roles(warp, 1),
    part: int32 @ block[1], k: int32 @ block[CUT.cluster], rows: int32 @ block[1] = 0,
):
    """Make `sums` the products of tiles of A and B: of all steps of K, or of a part's, the p-th, p + `CUT.parts`-th, ... step.

    `LOAD(to_a, to_b, step)` is what the loader does to bring the tiles of a step. Where `TRIM`, so many `rows` of the
    tile are wanted: a warpgroup that has none of them makes no products.

    Perspective: block; the loader runs ahead of the consumers by as many steps as rings have copies.
    Cost:        `CUT.stages` tiles of A and of B in shared memory.
    Numerics:    products are exact, and added in float32, in the order of K; those of integers are, modulo 2^32.
    Test:        tests/kernels/test_hgemm.py, tests/kernels/test_hgemm_parts.py
    """
    a: shared(T[CUT.rows_a, CUT.columns_a], ring=CUT.stages, swizzle=128)
    b: shared(TB[CUT.rows_b, CUT.columns_b], ring=CUT.stages, swizzle=CUT.span_b)

    @requires(block[1], thread["CUT.threads"])
    def fill(step: int32 @ block[1]):
        with claim(a, loader) as to_a, claim(b, loader) as to_b:
            LOAD(to_a, to_b, step)

    multiply_tiles(sums, a, b, consumers, part, k, rows, CUT=CUT, FILL=fill, TRIM=TRIM)


@prism.device
@template(CUT=constexpr(Cut), T=dtype, TB=dtype, SUM=dtype, FILL=function, TRIM=constexpr(bool, default=False))
@requires(block[1], thread["CUT.threads"])
def multiply_tiles(
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1],
    a: shared(T[CUT.rows_a, CUT.columns_a], ring=CUT.stages, swizzle=128) @ block[1],
    b: shared(TB[CUT.rows_b, CUT.columns_b], ring=CUT.stages, swizzle=CUT.span_b) @ block[1],
    consumers: roles(warp, CUT.warps), part: int32 @ block[1], k: int32 @ block[CUT.cluster], rows: int32 @ block[1] = 0,
):  # fmt: skip
    """The same, of tiles that `FILL(step)` fills: it claims both rings, for whoever brings them."""
    w: int32 @ warpgroup[1] = id()

    @requires(warp["CUT.warps"])
    def use(
        of_a: shared(T[CUT.rows_a, CUT.columns_a], swizzle=128) @ warp[CUT.warps],
        of_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[CUT.warps], step: int32 @ warp[CUT.warps],
    ):
        with group(warpgroup[1]):
            if not TRIM or CUT.rows * w < rows:
                wgmma(
                    sums, of_a[0 if CUT.transpose_a else CUT.rows * w, CUT.rows * w if CUT.transpose_a else 0], of_b,
                    transpose_a=CUT.transpose_a, transpose_b=CUT.transpose_b, accumulate=step >= CUT.parts * CUT.bk,
                )

    grid.pipeline(
        a, b, consumers, part * CUT.bk if CUT.parts > 1 else 0, k, THREADS=CUT.threads, STEP=CUT.parts * CUT.bk, FILL=FILL,
        USE=use, AHEAD=CUT.ahead, CLUSTER=1 if CUT.parts > 1 else CUT.cluster,
        UNROLL=4 if CUT.unrolls else 1,
    )  # fmt: skip


@prism.device
@template(CUT=constexpr(Cut), T=dtype, TB=dtype)
@requires(thread[1])
def prefetch_tiles(
    map_a: const(CUtensorMap(T, CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1], cluster: int32 @ thread[1],
    tiles_m: int32 @ grid[1], tiles_n: int32 @ grid[1], prefetch_k: int32 @ grid[1],
):
    """Bring both maps, and into the L2 a tile for each of the first clusters, of K below `prefetch_k`: it needs no wait."""
    prefetch_map(map_a)
    prefetch_map(map_b)
    t: int32 = cluster % (tiles_m + tiles_n)
    s: int32 = cluster // (tiles_m + tiles_n) * CUT.bk
    if s < prefetch_k and t < tiles_m:
        i: int32 = t * CUT.bm
        tma_prefetch(map_a[s if CUT.transpose_a else i, i if CUT.transpose_a else s])
    elif s < prefetch_k:
        j: int32 = (t - tiles_m) * CUT.bn
        tma_prefetch(map_b[s if CUT.transpose_b else j, j if CUT.transpose_b else s])


@prism.device
@template(CUT=constexpr(Cut), BATCH=constexpr(int), T=dtype, TB=dtype, SUM=dtype)
@requires(block[1], thread["CUT.threads"])
def multiply(
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), loader: roles(warp, 1),
    map_a: const(CUtensorMap(T, CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1], rank: int32 @ block[1],
    product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1], rows: int32 @ grid[1], n: int32 @ grid[1],
    k: int32 @ grid[1],
):
    """Make the `sums` of the tile at i, j of a product of `rows` by n: of all steps of K, or those of a part, the `rank`-th.

    Perspective: block, the `rank`-th of its cluster. Of what its blocks share each brings a part, for all of them.
    Shapes:      where `BATCH` is 1 or 3 A has a matrix for each product, below each other, and where it is 2 or 3 B has. Where it
                 is 4 both have all of K, and products are shares of it, `k` each.
    Test:        tests/kernels/test_hgemm.py, tests/kernels/test_hgemm_parts.py
    """

    @requires(warp[1])
    def load(
        to_a: shared(T[CUT.rows_a, CUT.columns_a], swizzle=128) @ warp[1],
        to_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[1], step: int32 @ warp[1],
    ):
        load_tiles(to_a, to_b, map_a, map_b, rank, product, i, j, rows, n, k, step, CUT=CUT, BATCH=BATCH)

    main_loop(sums, consumers, loader, rank, k, CUT=CUT, T=T, TB=TB, LOAD=load)


@prism.device
@template(CUT=constexpr(Cut), BATCH=constexpr(int), T=dtype, TB=dtype)
@requires(warp[1])
def load_tiles(
    to_a: shared(T[CUT.rows_a, CUT.columns_a], swizzle=128) @ warp[1],
    to_b: shared(TB[CUT.rows_b, CUT.columns_b], swizzle=CUT.span_b) @ warp[1],
    map_a: const(CUtensorMap(T, CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1], rank: int32 @ warp[1],
    product: int32 @ warp[1], i: int32 @ warp[1], j: int32 @ warp[1], rows: int32 @ grid[1], n: int32 @ grid[1],
    k: int32 @ grid[1], step: int32 @ warp[1],
):
    """Ask for a step of the tiles of A and B that `multiply` takes, or for the parts of them that are this block's to bring."""
    with one(thread):
        p: int32 @ thread[1] = CUT.part_a * (rank // CUT.cluster_m if CUT.crosses else rank) if CUT.cluster_n > 1 else 0
        q: int32 @ thread[1] = CUT.part_b * (rank % CUT.cluster_m if CUT.crosses else rank) if CUT.cluster_m > 1 else 0
        y: int32 @ thread[1] = p + (product * (k if CUT.transpose_a else rows) if BATCH % 2 == 1 else 0)
        z: int32 @ thread[1] = q + (product * (k if CUT.transpose_b else n) if BATCH // 2 % 2 == 1 else 0)
        along: int32 @ thread[1] = step + (product * k if BATCH == 4 else 0)
        outer_a: int32 @ thread[1] = along if CUT.transpose_a else i
        outer_b: int32 @ thread[1] = along if CUT.transpose_b else j
        tma_load(to_a[p, 0], map_a[outer_a + y, i if CUT.transpose_a else along], multicast=CUT.share_a, relative=CUT.crosses)
        tma_load(to_b[q, 0], map_b[outer_b + z, j if CUT.transpose_b else along], multicast=CUT.share_b, relative=CUT.crosses)
