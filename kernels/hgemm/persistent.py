"""Matrix multiplication by Hopper's tensor cores: tiles are copied in, multiplied and copied out by warps of their own.

The text is one loop over tiles, with a loop over K in it, and what comes after. Each `with claim(ring, role)` is run by that
role alone, as soon as the copy that it is given has been filled or is free: so a tile's loads run ahead of its products by as
many stages as there are, those of the next tile begin while this one's sums are rounded, and stores trail behind.
"""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, attr, bfloat16, block, claim, const, constexpr, count, dtype, float2_cast, float32, fragment, function, grid, group,
    id, int32, int64, one, pack_bf16x2, pack_f16x2, partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared,
    stmatrix, template, thread, tma_load, tma_store, uint32, warp, warpgroup, wgmma,
)


@prism("global")
@template(
    T=dtype, OUT=dtype, CONSUMERS=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int),
    AHEAD=constexpr(int), SLAB=constexpr(int), SLABS=constexpr(int), GROUP=constexpr(int), CLUSTER_M=constexpr(int),
    CLUSTER_N=constexpr(int), THREADS=constexpr(int), CLUSTER=constexpr(int), TRANSPOSE_A=constexpr(bool), TRANSPOSE_B=constexpr(bool), PLAIN=constexpr(bool),
    EPILOGUE=function, BM=constexpr(int), A_ROWS=constexpr(int), A_COLUMNS=constexpr(int), B_ROWS=constexpr(int), B_COLUMNS=constexpr(int), SPAN=constexpr(int)
)
@requires(grid[1], block[CLUSTER], thread[THREADS])
@attr("__launch_bounds__(THREADS, 1)")
def hgemm(
    map_a: const(CUtensorMap(T, A_ROWS / CLUSTER_N, A_COLUMNS, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(T, B_ROWS / CLUSTER_M, B_COLUMNS, swizzle=128)) @ grid[1],
    map_c: CUtensorMap(OUT, BM, SLAB, swizzle=SPAN) @ grid[1],
    c: ptr(OUT) @ grid[1], row_of_c: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1],
    alpha: float32 @ grid[1],
):
    tiles_m: int32 @ grid[1] = (m + (BM * CLUSTER_M - 1)) / (BM * CLUSTER_M)
    tiles_n: int32 @ grid[1] = (n + (BN * CLUSTER_N - 1)) / (BN * CLUSTER_N)
    tiles: int32 @ grid[1] = tiles_m * tiles_n
    clusters: int32 @ grid[1] = count(block[CLUSTER])
    first: int32 @ block[CLUSTER] = id()
    with partition(c, block[1], lambda i, j: i * row_of_c + j, races="allow") as out, group(block[CLUSTER]):
        rank: int32 @ block[1] = id()
        with group(block[1]):
            a: shared(T[A_ROWS, A_COLUMNS], ring=STAGES, swizzle=128)
            b: shared(T[B_ROWS, B_COLUMNS], ring=STAGES, swizzle=128)
            slab: shared(OUT[BM, SLAB], ring=SLABS, swizzle=SPAN)
            sums: fragment(float32, 64, BN) @ warpgroup[1]
            half: int32 @ warpgroup[1] = id()
            strip: int32 @ warp[1] = id()
            lane: int32 @ thread[1] = id() % 32
            workers, helpers = roles(warpgroup, CONSUMERS, 1)
            consumers, loader, storer = roles(warp, 4 * CONSUMERS, 1, 1)
            if CONSUMERS == 2:
                with helpers:
                    set_registers(40)
                with workers:
                    set_registers(232)
            with loader, one(thread):
                prefetch_map(map_a)
                prefetch_map(map_b)
            for tile in range(first, tiles, clusters):
                # Down GROUP tiles before right: those under way at a time then share rows and columns, in the L2.
                above: int32 @ block[1] = tile / (GROUP * tiles_n) * GROUP
                within: int32 @ block[1] = tile % (GROUP * tiles_n)
                height: int32 @ block[1] = min(tiles_m - above, GROUP)
                i: int32 @ block[1] = ((above + within % height) * CLUSTER_M + rank % CLUSTER_M) * BM
                j: int32 @ block[1] = (within / height * CLUSTER_N + rank / CLUSTER_M) * BN
                for k in range(0, steps):
                    with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                        # Of an operand that the cluster shares, each block brings a part, for all.
                        p: int32 @ thread[1] = A_ROWS / CLUSTER_N * rank if CLUSTER_N > 1 else 0
                        q: int32 @ thread[1] = B_ROWS / CLUSTER_M * rank if CLUSTER_M > 1 else 0
                        if TRANSPOSE_A:
                            tma_load(sa[p, 0], map_a[k * BK + p, i], multicast=(1 << CLUSTER) - 1 if CLUSTER_N > 1 else 0)
                        else:
                            tma_load(sa[p, 0], map_a[i + p, k * BK], multicast=(1 << CLUSTER) - 1 if CLUSTER_N > 1 else 0)
                        if TRANSPOSE_B:
                            tma_load(sb[q, 0], map_b[k * BK + q, j], multicast=(1 << CLUSTER) - 1 if CLUSTER_M > 1 else 0)
                        else:
                            tma_load(sb[q, 0], map_b[j + q, k * BK], multicast=(1 << CLUSTER) - 1 if CLUSTER_M > 1 else 0)
                    with claim(a, consumers, in_flight=AHEAD) as sa, claim(b, consumers, in_flight=AHEAD) as sb:
                        with group(warpgroup[1]):
                            if TRANSPOSE_A:
                                wgmma(sums, sa[0, 64 * half], sb, transpose_a=True, transpose_b=TRANSPOSE_B, accumulate=k > 0)
                            else:
                                wgmma(sums, sa[64 * half, 0], sb, transpose_b=TRANSPOSE_B, accumulate=k > 0)
                for s in range(0, BN / SLAB, unroll=True):
                    with claim(slab, consumers) as sc:
                        if OUT == float32:
                            with partition(sc, thread[1], lambda r, v: (16 * strip + lane / 4 + r, 2 * (lane % 4) + v)) as mine:
                                with group(thread[1]):
                                    for e in range(0, SLAB / 2):
                                        mine[e / 2 % 2 * 8, e / 4 * 8 + e % 2] = EPILOGUE(alpha * sums[SLAB / 2 * s + e])
                        else:
                            with partition(sc, warp[1], lambda r, v: (16 * strip + r, v)) as mine, group(warp[1]):
                                for p in range(0, SLAB / 16):
                                    words: uint32[4] @ thread[1]
                                    with group(thread[1]):
                                        for q in range(0, 4):
                                            low: float32 = EPILOGUE(alpha * sums[SLAB / 2 * s + 8 * p + 2 * q])
                                            high: float32 = EPILOGUE(alpha * sums[SLAB / 2 * s + 8 * p + 2 * q + 1])
                                            words[q] = pack_bf16x2(low, high) if OUT == bfloat16 else pack_f16x2(low, high)
                                    stmatrix(mine[lane % 16, 16 * p + lane / 16 * 8], words)
                    if PLAIN:
                        with claim(slab, storer) as sc, claim(out, storer) as target:
                            with partition(target, thread[1], lambda r, v: (r, v), races="allow") as mine, group(thread[1]):
                                for e in range(lane, BM * SLAB, 32):
                                    r: int32 = i + e / SLAB
                                    v: int32 = j + SLAB * s + e % SLAB
                                    if r < m and v < n:
                                        mine[r, v] = sc[e / SLAB, e % SLAB]
                    else:
                        with claim(slab, storer) as sc, one(thread):
                            tma_store(map_c[i, j + SLAB * s], sc)


@prism("device")
@requires(thread[1])
def identity(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The sums as they are."""
    return x
