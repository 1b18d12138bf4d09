"""Matrix multiplication by Hopper's tensor cores: tiles are copied in, multiplied and copied out by warps of their own.

The text is a schedule of tiles, and what is done with each: a main loop over K, and slabs of the sums that are rounded and
stored. Each `with claim(ring, role)` is run by that role alone, as soon as the copy that it is given has been filled, or is free.
So a tile's loads run ahead of its products by as many stages as there are, the next tile's begin while this one's sums are
rounded, and stores trail. Scales and a bias are read while products are made: for as many slabs ahead as their rings have copies.
"""

from __future__ import annotations

from prism.kernels.hgemm.cut import IN_SHARES, NO_BLOCKS, Blocks, Cut, Terms
from prism.kernels.hgemm.epilogue import store_slabs, store_sums
from prism.kernels.hgemm.main_loop import prefetch_tiles, share_registers
from prism.kernels.hgemm.scales import make_sums
from prism.lang import (
    CUtensorMap, assume, attr, block, const, constexpr, count, dtype, float32, fragment, function, grid, group, id, int32, int64,
    one, partition, prism, ptr, requires, roles, template, thread, warp, warpgroup,
)  # fmt: skip


@prism.kernel
@template(
    T=dtype, TB=dtype, TBIAS=dtype, OUT=dtype, CUT=constexpr(Cut), TERMS=constexpr(Terms), PLAIN=constexpr(bool),
    BATCH=constexpr(int), EPILOGUE=function, SCHEDULE=function, SUM=dtype(default=float32),
    BLOCKS=constexpr(Blocks, default=NO_BLOCKS),
)  # fmt: skip
@requires(grid[1], block["CUT.cluster"], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def hgemm(
    map_a: const(CUtensorMap(T, CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_c: const(CUtensorMap(OUT, CUT.slab_rows, CUT.slab_columns, swizzle=CUT.span)) @ grid[1],
    map_out: CUtensorMap(OUT, CUT.slab_rows, CUT.slab_columns, swizzle=CUT.span) @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], bias: ptr(const(TBIAS)) @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], group_m: int32 @ grid[1], prefetch_k: int32 @ grid[1], alpha: float32 @ grid[1],
    beta: float32 @ grid[1], scale_a: ptr(const(float32)) @ grid[1], scale_b: ptr(const(float32)) @ grid[1],
):
    """`out = EPILOGUE(alpha * A @ B + beta * C + bias)`, of sums in float32; A and B of 16-bit floats, or both of 8-bit ones.

    Perspective: grid, of any number of clusters of `CUT.cluster` blocks; `SCHEDULE` says which tiles each of them makes.
    Shapes:      `map_a`: m x k, or k x m where `CUT.transpose_a`; `map_b`: n x k, or k x n; `map_c` (read where `TERMS.beta`) and
                 `map_out`: m x n. Operands of 8-bit floats have K inside. Where `PLAIN`, `out` is written instead, its rows
                 `stride` elements apart. Where `CUT.trans` these three are transposes, n x m. `TERMS`: what there is of `bias`,
                 `scale_a`, `scale_b`. m, n, k are at least 1. `prefetch_k`: so much of K is asked for before the wait.
                 Of a `BATCH`, whose matrices lie below each other, m is the rows of all and `group_m` those of one.
    Cost:        `CUT.stages` tiles of A and B, `CUT.slabs` slabs, two slabs' scales and bias, in shared memory.
    Numerics:    products are exact; they are added in float32 (those of 8-bit floats in fewer bits, docs/intrinsics.md), in an
                 order that depends on k alone.
    Test:        tests/kernels/test_hgemm.py, tests/gpu/test_hgemm.py
    """
    assume(m >= 1 and n >= 1 and group_m >= 1)
    rows: int32 @ grid[1] = group_m if BATCH > 0 else m  # of a product
    tiles_m: int32 @ grid[1] = (rows + (CUT.bm * CUT.cluster_m - 1)) // (CUT.bm * CUT.cluster_m)
    tiles_n: int32 @ grid[1] = (n + (CUT.bn * CUT.cluster_n - 1)) // (CUT.bn * CUT.cluster_n)
    tiles: int32 @ grid[1] = tiles_m * tiles_n
    products: int32 @ grid[1] = m // rows if BATCH > 0 else 1
    down: int32 @ grid[1] = tiles_m if BATCH > 0 else group_m  # tiles, before those at the right
    clusters: int32 @ grid[1] = count(block[CUT.cluster])
    first: int32 @ block[CUT.cluster] = id()
    with partition(out, block[1], 0, races="none") as whole, group(block[CUT.cluster]):
        rank: int32 @ block[1] = id()
        with group(block[1]):
            sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1]
            workers, helpers = roles(warpgroup, CUT.consumers, 1)
            consumers, loader, fetcher, storer = roles(warp, CUT.warps, 1, 1, 1)
            share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
            with loader, one(thread):
                prefetch_tiles(map_a, map_b, first, tiles_m, tiles_n, prefetch_k, CUT=CUT)

            @requires(block[1], thread["CUT.threads"])
            def make_tile(product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1]):
                make_sums(
                    sums, consumers, loader, fetcher, map_a, map_b, scale_a, scale_b, rank, product, i, j, rows, n, k,
                    CUT=CUT, BLOCKS=BLOCKS, BATCH=BATCH,
                )  # fmt: skip
                if BATCH == IN_SHARES:
                    store_sums(sums, consumers, whole, stride, product * rows + i, j, CUT=CUT)
                else:
                    store_slabs(
                        sums, consumers, fetcher, storer, map_c, map_out, whole, stride, bias, scale_a, scale_b, product, i, j,
                        rows, n, alpha, beta, CUT=CUT, TERMS=TERMS, PLAIN=PLAIN, BATCHED=BATCH > 0, EPILOGUE=EPILOGUE,
                    )  # fmt: skip

            SCHEDULE(first, clusters, rank, tiles, tiles_m, tiles_n, products, down, CUT=CUT, BATCHED=BATCH > 0, TILE=make_tile)
