"""Matrix multiplication by Hopper's tensor cores: tiles are copied in, multiplied and copied out by warps of their own.

The text is one loop over tiles, with a loop over K in it, and what comes after. Each `with claim(ring, role)` is run by that
role alone, as soon as the copy that it is given has been filled, or is free. So a tile's loads run ahead of its products by as
many stages as there are, those of the next tile begin while this one's sums are rounded, and its stores trail behind.
"""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, attr, bfloat16, block, claim, const, constexpr, count, dtype, float32, fragment, function, grid, group, id, int32,
    int64, ldmatrix, one, pack_bf16x2, pack_f16x2, partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared,
    stmatrix, template, thread, tma_load, tma_store, uint32, unpack_bf16x2, unpack_f16x2, warp, warpgroup, wgmma,
)


@prism("global")
@template(
    T=dtype, OUT=dtype, CONSUMERS=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int),
    AHEAD=constexpr(int), SPAN=constexpr(int), SLABS=constexpr(int), GROUP=constexpr(int), CLUSTER_M=constexpr(int),
    CLUSTER_N=constexpr(int), CLUSTER=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    WORKER_REGISTERS=constexpr(int), HELPER_REGISTERS=constexpr(int), TRANSPOSE_A=constexpr(bool), TRANSPOSE_B=constexpr(bool),
    BETA=constexpr(bool), BIAS=constexpr(int), PLAIN=constexpr(bool), EPILOGUE=function,
)
@requires(grid[1], block[CLUSTER], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def hgemm(
    map_a: const(CUtensorMap(T, (BK if TRANSPOSE_A else 64 * CONSUMERS) / CLUSTER_N, 64 * CONSUMERS if TRANSPOSE_A else BK, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(T, (BK if TRANSPOSE_B else BN) / CLUSTER_M, BN if TRANSPOSE_B else BK, swizzle=128)) @ grid[1],
    map_c: const(CUtensorMap(OUT, 64 * CONSUMERS, SPAN / (4 if OUT == float32 else 2), swizzle=SPAN)) @ grid[1],
    map_out: CUtensorMap(OUT, 64 * CONSUMERS, SPAN / (4 if OUT == float32 else 2), swizzle=SPAN) @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], bias: ptr(const(T)) @ grid[1],
    m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """`out = EPILOGUE(alpha * A @ B + beta * C + bias)`, of sums in float32.

    Perspective: grid, of any number of clusters of `CLUSTER_M * CLUSTER_N` blocks of `CONSUMERS + 1` warpgroups.
    Shapes:      `map_a`: m x k, or k x m where `TRANSPOSE_A`; `map_b`: n x k, or k x n where `TRANSPOSE_B`; `map_c` (read where
                 `BETA`), `map_out`: m x n. Where `PLAIN`, `out` is written without `map_out`, its rows `stride` elements apart.
                 `bias` (`BIAS` 1): n elements, one a column; (`BIAS` 2): m, one a row. m, n, k are at least 1.
    Cost:        `STAGES` tiles of `CONSUMERS * 64 x BK` and `BN x BK`, and `SLABS` of `SPAN` bytes a row, in shared memory.
    Numerics:    products are exact; they are added in float32, in an order that depends on K alone.
    Test:        tests/kernels/test_hgemm.py, tests/gpu/test_hgemm.py
    """
    BM: constexpr(int) = 64 * CONSUMERS
    SLAB: constexpr(int) = SPAN / (4 if OUT == float32 else 2)  # columns that are rounded and stored at a time
    PART_A: constexpr(int) = (BK if TRANSPOSE_A else BM) / CLUSTER_N
    PART_B: constexpr(int) = (BK if TRANSPOSE_B else BN) / CLUSTER_M
    ALL_A: constexpr(int) = (1 << CLUSTER_N) - 1 if CLUSTER_N > 1 else 0
    ALL_B: constexpr(int) = (1 << CLUSTER_M) - 1 if CLUSTER_M > 1 else 0
    tiles_m: int32 @ grid[1] = (m + (BM * CLUSTER_M - 1)) / (BM * CLUSTER_M)
    tiles_n: int32 @ grid[1] = (n + (BN * CLUSTER_N - 1)) / (BN * CLUSTER_N)
    clusters: int32 @ grid[1] = count(block[CLUSTER])
    first: int32 @ block[CLUSTER] = id()
    with partition(out, block[1], lambda r, q: r * stride + q, races="allow") as whole, group(block[CLUSTER]):
        rank: int32 @ block[1] = id()
        with group(block[1]):
            a: shared(T[BK if TRANSPOSE_A else BM, BM if TRANSPOSE_A else BK], ring=STAGES, swizzle=128)
            b: shared(T[BK if TRANSPOSE_B else BN, BN if TRANSPOSE_B else BK], ring=STAGES, swizzle=128)
            slab: shared(OUT[BM, SLAB], ring=SLABS, swizzle=SPAN)
            sums: fragment(float32, 64, BN) @ warpgroup[1]
            half: int32 @ warpgroup[1] = id()
            strip: int32 @ warp[1] = id()
            lane: int32 @ thread[1] = id() % 32
            workers, helpers = roles(warpgroup, CONSUMERS, 1)
            consumers, loader, fetcher, storer = roles(warp, 4 * CONSUMERS, 1, 1, 1)
            if WORKER_REGISTERS > 0:
                with helpers:
                    set_registers(HELPER_REGISTERS)
                with workers:
                    set_registers(WORKER_REGISTERS)
            with loader, one(thread):
                prefetch_map(map_a)
                prefetch_map(map_b)
            for tile in range(first, tiles_m * tiles_n, clusters):
                # Down GROUP tiles before right: those under way at a time then share rows and columns, in the L2.
                above: int32 @ block[1] = tile / (GROUP * tiles_n) * GROUP
                within: int32 @ block[1] = tile % (GROUP * tiles_n)
                height: int32 @ block[1] = min(tiles_m - above, GROUP)
                i: int32 @ block[1] = ((above + within % height) * CLUSTER_M + rank % CLUSTER_M) * BM
                j: int32 @ block[1] = (within / height * CLUSTER_N + rank / CLUSTER_M) * BN
                for step in range(0, k, BK):
                    with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                        # Of an operand that the cluster shares, each block brings a part, for all.
                        p: int32 @ thread[1] = PART_A * rank if CLUSTER_N > 1 else 0
                        q: int32 @ thread[1] = PART_B * rank if CLUSTER_M > 1 else 0
                        if TRANSPOSE_A:
                            tma_load(sa[p, 0], map_a[step + p, i], multicast=ALL_A)
                        else:
                            tma_load(sa[p, 0], map_a[i + p, step], multicast=ALL_A)
                        if TRANSPOSE_B:
                            tma_load(sb[q, 0], map_b[step + q, j], multicast=ALL_B)
                        else:
                            tma_load(sb[q, 0], map_b[j + q, step], multicast=ALL_B)
                    with claim(a, consumers, in_flight=AHEAD) as sa, claim(b, consumers, in_flight=AHEAD) as sb:
                        with group(warpgroup[1]):
                            if TRANSPOSE_A:
                                wgmma(sums, sa[0, 64 * half], sb, transpose_a=True, transpose_b=TRANSPOSE_B, accumulate=step > 0)
                            else:
                                wgmma(sums, sa[64 * half, 0], sb, transpose_b=TRANSPOSE_B, accumulate=step > 0)
                for s in range(0, BN / SLAB, unroll=True):
                    if BETA:
                        with claim(slab, fetcher) as sc, one(thread):
                            tma_load(sc, map_c[i, j + SLAB * s])
                    with claim(slab, consumers) as sc:
                        r: int32 @ thread[1] = 16 * strip + lane / 4  # where the thread's first element is
                        q: int32 @ thread[1] = lane % 4 * 2
                        if OUT == float32:
                            with partition(sc, thread[1], lambda y, x: (r + y, q + x)) as own, group(thread[1]):
                                for e in range(0, SLAB / 2):
                                    y: int32 = e / 2 % 2 * 8
                                    x: int32 = e / 4 * 8 + e % 2
                                    old: float32 = own[y, x] if BETA else 0.0
                                    own[y, x] = finish(sums[SLAB / 2 * s + e], old, alpha, beta, bias, i + r + y, j + SLAB * s + q + x, m, n, BETA=BETA, BIAS=BIAS, EPILOGUE=EPILOGUE)
                        else:
                            with partition(sc, warp[1], lambda y, x: (16 * strip + y, x)) as own, group(warp[1]):
                                for p in range(0, SLAB / 16):
                                    words: uint32[4] @ thread[1]
                                    with group(thread[1]):
                                        for w in range(0, 4):
                                            ends: float32[2]
                                            for e in range(0, 2):
                                                y: int32 = w % 2 * 8
                                                x: int32 = 16 * p + w / 2 * 8 + e
                                                old: float32 = own[lane / 4 + y, q + x] if BETA else 0.0
                                                ends[e] = finish(sums[SLAB / 2 * s + 8 * p + 2 * w + e], old, alpha, beta, bias, i + r + y, j + SLAB * s + q + x, m, n, BETA=BETA, BIAS=BIAS, EPILOGUE=EPILOGUE)
                                            words[w] = pack_bf16x2(ends[0], ends[1]) if OUT == bfloat16 else pack_f16x2(ends[0], ends[1])
                                    stmatrix(own[lane % 16, 16 * p + lane / 16 * 8], words)
                    if PLAIN:
                        with claim(slab, storer) as sc, claim(whole, storer) as target:
                            with partition(target, thread[1], lambda r, q: (r, q), races="allow") as own, group(thread[1]):
                                for e in range(lane, BM * SLAB, 32):
                                    if i + e / SLAB < m and j + SLAB * s + e % SLAB < n:
                                        own[i + e / SLAB, j + SLAB * s + e % SLAB] = sc[e / SLAB, e % SLAB]
                    else:
                        with claim(slab, storer) as sc, one(thread):
                            tma_store(map_out[i, j + SLAB * s], sc)


@prism("device")
@requires(thread[1])
@template(T=dtype, BETA=constexpr(bool), BIAS=constexpr(int), EPILOGUE=function)
def finish(
    sum: float32 @ thread[1], old: float32 @ thread[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
    bias: ptr(const(T)) @ grid[1], row: int32 @ thread[1], column: int32 @ thread[1], m: int32 @ grid[1], n: int32 @ grid[1],
) -> float32 @ thread[1]:
    """An element of the result, of its sum of products and what was there before."""
    value: float32 = alpha * sum
    if BETA:
        value += beta * old
    if BIAS == 1:
        value += float32(bias[column]) if column < n else 0.0
    if BIAS == 2:
        value += float32(bias[row]) if row < m else 0.0
    return EPILOGUE(value)


@prism("device")
@requires(thread[1])
def identity(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The value as it is."""
    return x
