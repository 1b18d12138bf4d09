"""Matrix multiplication of a small result and a long K: blocks of a cluster each take a part of K, and add up what they got.

Where a result has fewer tiles than there are multiprocessors, `PARTS` blocks make one. Block p multiplies the steps p,
p + PARTS, ... of K and leaves its sums in its shared memory; then each adds up rows of the tile, from all blocks in their order.
"""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, assume, attr, block, claim, const, constexpr, dtype, float32, fragment, function, grid, group, id, int32, int64,
    one, partition, prefetch_map, prism, ptr, requires, roles, shared, strides_nest, template, thread, tma_load, warp,
    warpgroup, wgmma,
)  # fmt: skip


@prism("global")
@template(
    T=dtype, TB=dtype, TBIAS=dtype, OUT=dtype, TRANSPOSE_A=constexpr(bool), TRANSPOSE_B=constexpr(bool),
    A_ROWS=constexpr(int), B_ROWS=constexpr(int), B_COLUMNS=constexpr(int), SPAN_B=constexpr(int), BM=constexpr(int),
    BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int), AHEAD=constexpr(int), CONSUMERS=constexpr(int),
    THREADS=constexpr(int), PARTS=constexpr(int), TRANS=constexpr(bool), SCALE_A=constexpr(int), SCALE_B=constexpr(int),
    BIAS=constexpr(int), EPILOGUE=function,
)  # fmt: skip
@requires(grid[1], block[PARTS], thread[THREADS])
@attr("__launch_bounds__(THREADS, 1)")
def hgemm_in_parts(
    map_a: const(CUtensorMap(T, A_ROWS, BM if TRANSPOSE_A else BK, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, B_ROWS, B_COLUMNS, swizzle=SPAN_B)) @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], bias: ptr(const(TBIAS)) @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], alpha: float32 @ grid[1], scale_a: ptr(const(float32)) @ grid[1],
    scale_b: ptr(const(float32)) @ grid[1],
):  # fmt: skip
    """`out = EPILOGUE(alpha * A @ B + bias)`, of sums in float32; A and B of 16-bit floats, or both of 8-bit ones.

    Perspective: grid, of a cluster of `PARTS` blocks of `CONSUMERS + 1` warpgroups for each tile of `BM x BN` of the result.
    Shapes:      as hgemm's (persistent.py): `map_a` m x k, or k x m where `TRANSPOSE_A`, `map_b` n x k, or k x n; rows of `out`
                 lie `stride` elements apart; `bias`, `scale_a` and `scale_b` by `BIAS`, `SCALE_A` and `SCALE_B`. m, n, k
                 are at least 1. Where `TRANS`, `out` is the transpose, n x m.
    Cost:        `STAGES` tiles of `BM x BK` and `BN x BK`, and `BM x BN` sums, in the shared memory of each block.
    Numerics:    the steps of a part are added up as in hgemm, then the parts in their order: it depends on k and `PARTS` alone.
    Test:        tests/kernels/test_hgemm_parts.py, tests/gpu/test_hgemm.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(n if TRANS else m, stride, m if TRANS else n, 1))
    ROWS: constexpr(int) = BM / CONSUMERS  # of a warpgroup
    SHARE: constexpr(int) = BM / PARTS  # rows that a block adds up
    WORKERS: constexpr(int) = 128 * CONSUMERS  # its threads that do
    tiles_m: int32 @ grid[1] = (m + (BM - 1)) / BM
    tile: int32 @ block[PARTS] = id()
    i: int32 @ block[PARTS] = tile % tiles_m * BM
    j: int32 @ block[PARTS] = tile / tiles_m * BN
    with (
        partition(out, thread[1], lambda y, x: x * stride + y if TRANS else y * stride + x, races="none") as target,
        group(block[PARTS]),
    ):
        parts: shared(float32[PARTS, BM, BN + 8])  # rows begin in other banks: a warp's eight rows meet no conflict
        part: int32 @ block[1] = id()
        with partition(parts, block[1], lambda y, x: (part, y, x)) as own, group(block[1]):
            a: shared(T[A_ROWS, BM if TRANSPOSE_A else BK], ring=STAGES, swizzle=128)
            b: shared(TB[B_ROWS, B_COLUMNS], ring=STAGES, swizzle=SPAN_B)
            sums: fragment(float32, ROWS, BN) @ warpgroup[1] = 0  # where K has fewer steps than parts
            w: int32 @ warpgroup[1] = id()
            strip: int32 @ warp[1] = ROWS * w + id() % 4 * 16  # the warp's first row: it has 16 of each 64
            lane: int32 @ thread[1] = id() % 32
            q: int32 @ thread[1] = lane % 4 * 2
            consumers, loader = roles(warp, 4 * CONSUMERS, 1)
            with loader, one(thread):
                prefetch_map(map_a)
                prefetch_map(map_b)
            for step in range(part * BK, k, PARTS * BK):
                with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                    tma_load(sa, map_a[step if TRANSPOSE_A else i, i if TRANSPOSE_A else step])
                    tma_load(sb, map_b[step if TRANSPOSE_B else j, j if TRANSPOSE_B else step])
                with claim(a, consumers, in_flight=AHEAD) as sa, claim(b, consumers, in_flight=AHEAD) as sb:
                    with group(warpgroup[1]):
                        wgmma(
                            sums, sa[0 if TRANSPOSE_A else ROWS * w, ROWS * w if TRANSPOSE_A else 0], sb,
                            transpose_a=TRANSPOSE_A, transpose_b=TRANSPOSE_B, accumulate=step >= PARTS * BK,
                        )
            with (
                claim(own, consumers) as filled, partition(filled, warp[1], lambda y, x: (strip + y, x)) as strips,
                group(warp[1]), partition(strips, thread[1], lambda y, x: (lane / 4 + y, q + x)) as mine, group(thread[1]),
            ):  # fmt: skip
                for r in range(0, ROWS, 64, unroll=True):
                    for e in range(0, BN / 2, unroll=True):
                        mine[r + e / 2 % 2 * 8, e / 4 * 8 + e % 2] = sums[r / 64 * BN / 2 + e]
        with group(block[1]):
            t: int32 @ thread[1] = id()
            with group(thread[1]):
                if t < WORKERS:
                    values: float32[SHARE * BN / WORKERS]
                    for e in range(0, SHARE * BN / WORKERS):
                        values[e] = parts[0, part * SHARE + (t + e * WORKERS) / BN, (t + e * WORKERS) % BN]
                        for p in range(1, PARTS):
                            values[e] += parts[p, part * SHARE + (t + e * WORKERS) / BN, (t + e * WORKERS) % BN]
                    for e in range(0, SHARE * BN / WORKERS):
                        y: int32 = i + part * SHARE + (t + e * WORKERS) / BN
                        x: int32 = j + (t + e * WORKERS) % BN
                        if y < m and x < n:
                            value: float32 = alpha * values[e]
                            if SCALE_A > 0:
                                value *= scale_a[y if SCALE_A == 2 else 0]
                            if SCALE_B > 0:
                                value *= scale_b[x if SCALE_B == 2 else 0]
                            if BIAS > 0:
                                value += float32(bias[y if BIAS == 2 else x])
                            target[y, x] = EPILOGUE(value)
