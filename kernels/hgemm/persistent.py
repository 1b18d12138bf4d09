"""Matrix multiplication by Hopper's tensor cores: tiles are copied in, multiplied and copied out by warps of their own.

The text is one loop over tiles, with a loop over K in it, and what comes after. Each `with claim(ring, role)` is run
by that role alone, as soon as the copy that it is given has been filled, or is free. So a tile's loads run ahead of its
products by as many stages as there are, the next tile's begin while this one's sums are rounded, and stores trail. Scales
and a bias are read while products are made: for as many slabs ahead as their rings have copies.
"""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, assume, attr, bfloat16, block, claim, const, constexpr, count, dtype, float32, fragment, function, grid,
    group, id, int32, int64, one, pack_bf16x2, pack_f16x2, partition, prefetch_map, prism, ptr, requires, roles,
    set_registers, shared, stmatrix, template, thread, tma_load, tma_prefetch, tma_store, uint32, warp, warpgroup, wgmma,
)


@prism("global")
@template(
    T=dtype, TB=dtype, TBIAS=dtype, OUT=dtype, TRANSPOSE_A=constexpr(bool), TRANSPOSE_B=constexpr(bool), TRANS=constexpr(bool),
    A_ROWS=constexpr(int), B_ROWS=constexpr(int), B_COLUMNS=constexpr(int), SPAN_B=constexpr(int), SLAB=constexpr(int),
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int), AHEAD=constexpr(int), SCALE_A=constexpr(int),
    SPAN=constexpr(int), SLABS=constexpr(int), CLUSTER_M=constexpr(int), CLUSTER_N=constexpr(int), CLUSTER=constexpr(int),
    CONSUMERS=constexpr(int), THREADS=constexpr(int), WORKER_REGISTERS=constexpr(int), HELPER_REGISTERS=constexpr(int),
    PLAIN=constexpr(bool), BETA=constexpr(bool), SCALE_B=constexpr(int), BIAS=constexpr(int), BATCH=constexpr(int),
    EPILOGUE=function,
)
@requires(grid[1], block[CLUSTER], thread[THREADS])
@attr("__launch_bounds__(THREADS, 1)")
def hgemm(
    map_a: const(CUtensorMap(T, A_ROWS / CLUSTER_N, BM if TRANSPOSE_A else BK, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, B_ROWS / CLUSTER_M, B_COLUMNS, swizzle=SPAN_B)) @ grid[1],
    map_c: const(CUtensorMap(OUT, SLAB if TRANS else BM, BM if TRANS else SLAB, swizzle=SPAN)) @ grid[1],
    map_out: CUtensorMap(OUT, SLAB if TRANS else BM, BM if TRANS else SLAB, swizzle=SPAN) @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], bias: ptr(const(TBIAS)) @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], group_m: int32 @ grid[1], prefetch_k: int32 @ grid[1], alpha: float32 @ grid[1],
    beta: float32 @ grid[1], scale_a: ptr(const(float32)) @ grid[1], scale_b: ptr(const(float32)) @ grid[1],
):
    """`out = EPILOGUE(alpha * A @ B + beta * C + bias)`, of sums in float32; A and B of 16-bit floats, or both of 8-bit ones.

    Perspective: grid, of any number of clusters of `CLUSTER_M * CLUSTER_N` blocks of `CONSUMERS + 1` warpgroups.
    Shapes:      `map_a`: m x k, or k x m where `TRANSPOSE_A`; `map_b`: n x k, or k x n where `TRANSPOSE_B`; `map_c`
                 (read where `BETA`) and `map_out`: m x n. Operands of 8-bit floats have K inside. Where `PLAIN`, `out` is
                 written instead, its rows `stride` elements apart. `bias`: one a column (`BIAS` 1), or one a row (2).
                 `scale_a`: one factor (`SCALE_A` 1), or one a row (2); `scale_b`: one, or one a column. m, n, k,
                 tall are at least 1. `prefetch_k`: so much of K is asked for before the wait, in a product of one round. `SLAB`
                 columns of a tile are stored at a time. Where `TRANS`, `map_c`, `map_out` and `out` are transposes, n x m.
    Cost:        `STAGES` tiles of `BM x BK` and `BN x BK`, `SLABS` of `BM x SLAB`, two slabs' scales and bias, in shared memory.
    Numerics:    products are exact; they are added in float32 (those of 8-bit floats in fewer bits, docs/intrinsics.md), in an
                 order that depends on k alone.
    Test:        tests/kernels/test_hgemm.py, tests/gpu/test_hgemm.py
    """
    ROWS: constexpr(int) = BM / CONSUMERS  # of a warpgroup
    PIECES: constexpr(int) = 4 if SLAB % 16 == 0 else 2  # of 8 x 8 elements, that a warp stores at a time
    WIDE: constexpr(int) = (SLAB + 31) / 32 * 32  # columns of a slab, to whole rounds of a warp
    ALL_A: constexpr(int) = (1 << CLUSTER_N) - 1 if CLUSTER_N > 1 else 0
    ALL_B: constexpr(int) = (1 << CLUSTER_M) - 1 if CLUSTER_M > 1 else 0
    assume(m >= 1 and n >= 1 and group_m >= 1)
    rows: int32 @ grid[1] = group_m if BATCH > 0 else m  # of a product
    tiles_m: int32 @ grid[1] = (rows + (BM * CLUSTER_M - 1)) / (BM * CLUSTER_M)
    tiles_n: int32 @ grid[1] = (n + (BN * CLUSTER_N - 1)) / (BN * CLUSTER_N)
    tiles: int32 @ grid[1] = tiles_m * tiles_n
    products: int32 @ grid[1] = m / rows if BATCH > 0 else 1
    down: int32 @ grid[1] = tiles_m if BATCH > 0 else group_m  # tiles, before those at the right
    clusters: int32 @ grid[1] = count(block[CLUSTER])
    first: int32 @ block[CLUSTER] = id()
    with partition(out, block[1], lambda y, x: y * stride + x, races="none") as whole, group(block[CLUSTER]):
        rank: int32 @ block[1] = id()
        with group(block[1]):
            a: shared(T[A_ROWS, BM if TRANSPOSE_A else BK], ring=STAGES, swizzle=128)
            b: shared(TB[B_ROWS, B_COLUMNS], ring=STAGES, swizzle=SPAN_B)
            slab: shared(OUT[SLAB if TRANS else BM, BM if TRANS else SLAB], ring=SLABS, swizzle=SPAN)
            by_row: shared(float32[BM], ring=2)  # factors of a slab's rows, and of its columns, and what is added
            by_column: shared(float32[WIDE], ring=2)
            added: shared(float32[BM if BIAS == 2 else WIDE], ring=2)
            sums: fragment(float32, ROWS, BN) @ warpgroup[1]
            w: int32 @ warpgroup[1] = id()
            strip: int32 @ warp[1] = ROWS * w + id() % 4 * 16  # the warp's first row: it has 16 of each 64
            lane: int32 @ thread[1] = id() % 32
            row: int32 @ thread[1] = lane / 8 % 2 * 8 + (0 if TRANS else lane % 8)  # of the lane's piece, or row of it
            column: int32 @ thread[1] = lane / 16 % (PIECES / 2) * 8 + (lane % 8 if TRANS else 0)
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
                t: int32 @ thread[1] = first % (tiles_m + tiles_n)  # before the wait: a tile of each of the first blocks
                s: int32 @ thread[1] = first / (tiles_m + tiles_n) * BK
                if s < prefetch_k and t < tiles_m:
                    tma_prefetch(map_a[s if TRANSPOSE_A else t * BM, t * BM if TRANSPOSE_A else s])
                elif s < prefetch_k:
                    tma_prefetch(map_b[s if TRANSPOSE_B else (t - tiles_m) * BN, (t - tiles_m) * BN if TRANSPOSE_B else s])
            for tile in range(first, tiles * products, clusters):
                product: int32 @ block[1] = tile / tiles if BATCH > 0 else 0
                # Down so many tiles before right: those under way at a time then share rows and columns, in the L2.
                above: int32 @ block[1] = (tile - product * tiles) / (down * tiles_n) * down
                within: int32 @ block[1] = (tile - product * tiles) % (down * tiles_n)
                height: int32 @ block[1] = min(tiles_m - above, down)
                i: int32 @ block[1] = ((above + within % height) * CLUSTER_M + rank % CLUSTER_M) * BM
                j: int32 @ block[1] = (within / height * CLUSTER_N + rank / CLUSTER_M) * BN
                top: int32 @ block[1] = product * (n if TRANS else rows)  # of the result
                for step in range(0, k, BK):
                    with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                        p: int32 @ thread[1] = A_ROWS / CLUSTER_N * rank if CLUSTER_N > 1 else 0  # each brings a part, for all
                        q: int32 @ thread[1] = B_ROWS / CLUSTER_M * rank if CLUSTER_M > 1 else 0
                        y: int32 @ thread[1] = p + (product * (k if TRANSPOSE_A else rows) if BATCH % 2 == 1 else 0)
                        z: int32 @ thread[1] = q + (product * (k if TRANSPOSE_B else n) if BATCH > 1 else 0)
                        tma_load(sa[p, 0], map_a[(step if TRANSPOSE_A else i) + y, i if TRANSPOSE_A else step], multicast=ALL_A)
                        tma_load(sb[q, 0], map_b[(step if TRANSPOSE_B else j) + z, j if TRANSPOSE_B else step], multicast=ALL_B)
                    with claim(a, consumers, in_flight=AHEAD) as sa, claim(b, consumers, in_flight=AHEAD) as sb:
                        with group(warpgroup[1]):
                            wgmma(
                                sums, sa[0 if TRANSPOSE_A else ROWS * w, ROWS * w if TRANSPOSE_A else 0], sb,
                                transpose_a=TRANSPOSE_A, transpose_b=TRANSPOSE_B, accumulate=step > 0,
                            )
                for s in range(0, BN / SLAB, unroll=True):
                    upper: int32 @ block[1] = j + SLAB * s if TRANS else i  # the slab's first row, and column, of the result
                    left: int32 @ block[1] = i if TRANS else j + SLAB * s
                    if BETA:
                        with claim(slab, fetcher) as sc, one(thread):
                            tma_load(sc, map_c[top + upper, left])
                    with claim(by_row, fetcher) as ra, claim(by_column, fetcher) as cb, claim(added, fetcher) as more:
                        bring(ra, scale_a, i, rows, MANY=SCALE_A)
                        bring(cb, scale_b, j + SLAB * s, n, MANY=SCALE_B)
                        bring(more, bias, i if BIAS == 2 else j + SLAB * s, rows if BIAS == 2 else n, MANY=2 if BIAS > 0 else 0)
                    with (
                        claim(slab, consumers) as sc, claim(by_row, consumers) as ra, claim(by_column, consumers) as cb,
                        claim(added, consumers) as more,
                        partition(sc, warp[1], lambda y, x: (x if TRANS else strip + y, strip + y if TRANS else x)) as own,
                        group(warp[1]),
                    ):  # fmt: skip
                        for r in range(0, ROWS, 64, unroll=True):
                            values: float32[SLAB / 2] @ thread[1]
                            with group(thread[1]):
                                for e in range(0, SLAB / 2):
                                    y: int32 = r + lane / 4 + e / 2 % 2 * 8
                                    x: int32 = lane % 4 * 2 + e / 4 * 8 + e % 2
                                    values[e] = alpha * sums[(r / 64 * BN + SLAB * s) / 2 + e]
                                    if SCALE_A > 0:
                                        values[e] *= ra[strip + y]
                                    if SCALE_B > 0:
                                        values[e] *= cb[x]
                                    if BETA:
                                        values[e] += beta * own[y, x]
                                    if BIAS > 0:
                                        values[e] += more[strip + y if BIAS == 2 else x]
                                    values[e] = EPILOGUE(values[e])
                            if OUT == float32:
                                q: int32 @ thread[1] = lane % 4 * 2
                                with partition(own, thread[1], lambda y, x: (lane / 4 + y, q + x)) as mine, group(thread[1]):
                                    for e in range(0, SLAB / 2):
                                        mine[r + e / 2 % 2 * 8, e / 4 * 8 + e % 2] = values[e]
                            else:
                                for p in range(0, SLAB / (4 * PIECES)):
                                    words: uint32[PIECES] @ thread[1]
                                    with group(thread[1]):
                                        for q in range(0, PIECES):
                                            e: int32 = 2 * (PIECES * p + q)
                                            if OUT == bfloat16:
                                                words[q] = pack_bf16x2(values[e], values[e + 1])
                                            else:
                                                words[q] = pack_f16x2(values[e], values[e + 1])
                                    stmatrix(own[r + row, 4 * PIECES * p + column], words, trans=TRANS)
                    if PLAIN:
                        with claim(slab, storer) as sc, claim(whole, storer) as target:
                            with partition(target, thread[1], lambda y, x: (y, x), races="none") as mine:
                                with group(thread[1]):
                                    for e in range(lane, BM * SLAB, 32):
                                        y: int32 = e / (BM if TRANS else SLAB)
                                        x: int32 = e % (BM if TRANS else SLAB)
                                        if upper + y < (n if TRANS else rows) and left + x < (rows if TRANS else n):
                                            mine[top + upper + y, left + x] = sc[y, x]
                    else:
                        with claim(slab, storer) as sc, one(thread):
                            tma_store(map_out[top + upper, left], sc, disjoint=BATCH > 0)


@prism("device")
@requires(warp[1])
@template(T=dtype, N=constexpr(int), MANY=constexpr(int))
def bring(
    to: shared(float32[N]) @ warp[1], x: ptr(const(T)) @ grid[1], first: int32 @ warp[1], size: int32 @ warp[1]
):
    """Copy elements of x, from the first on, and 0 for those beyond the last; its only one, where `MANY` is 1; none, where 0."""
    if MANY > 0:
        lane: int32 @ thread[1] = id()
        with partition(to, thread[1], lambda e: 32 * e + lane) as mine, group(thread[1]):
            for e in range(0, N / 32, unroll=True):
                index: int32 = first + 32 * e + lane if MANY == 2 else 0
                mine[e] = float32(x[index]) if index < size else 0.0


@prism("device")
@requires(thread[1])
def identity(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The value as it is."""
    return x
