"""Products in float32, a tile of the result a block, a warp and a thread: the fifth of five variants.

What is computed, and what the parameters mean, is said in `elements.py`.
"""

from __future__ import annotations

from prism.kernels.sgemm.tiles import PAD, add_products, fetch, put
from prism.lang import (
    assume, attr, block, const, constexpr, count, float4, float4_cast, float32, grid, group, id, int32, int64, partition, prism,
    ptr, requires, shared, strides_nest, template, thread, warp,
)


@prism.kernel
@template(
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), WM=constexpr(int), WN=constexpr(int), STEP_M=constexpr(int),
    STEP_N=constexpr(int), UNROLL=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int), ALONG_A=constexpr(bool),
    ALONG_B=constexpr(bool), WIDE_A=constexpr(bool), WIDE_B=constexpr(bool), WIDE_C=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def warps(
    M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1],
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], bs_a: int64 @ grid[1],
    B: ptr(const(float32)) @ grid[1], rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], bs_b: int64 @ grid[1],
    beta: float32 @ grid[1], C: ptr(float32) @ grid[1], rs_c: int64 @ grid[1], bs_c: int64 @ grid[1],
):
    """As `vectorized`, with a level between: a warp computes `WM x WN` elements, in sub-tiles of `STEP_M x STEP_N`.

    A thread has 4 x 4 elements of each sub-tile; lanes go two by two down, then across: of each four, two then read the same
    16 bytes of a tile, and a read takes half the passes. A step's elements of `A` and `B` are loaded while the one before is
    multiplied.

    Perspective: as `tiled`; `THREADS` is `32 * (BM / WM) * (BN / WN)`.
    Shapes:      as `vectorized`; `STEP_M * STEP_N` is `32 * 4 * 4`, and divides `WM` and `WN` each its own.
    Test:        tests/kernels/test_sgemm.py, tests/gpu/test_sgemm.py
    """
    ROWS: constexpr(int) = WM // STEP_M * 4
    COLS: constexpr(int) = WN // STEP_N * 4
    across: int32 @ grid[1] = (N - 1) // BN + 1
    tiles: int32 @ grid[1] = ((M - 1) // BM + 1) * across
    assume(M >= 1 and N >= 1 and strides_nest((count(block[1]) - 1) // tiles + 1, bs_c, M, rs_c, N, 1))
    p: int64 @ block[1] = id() // tiles
    top: int32 @ block[1] = id() % tiles // across * BM
    left: int32 @ block[1] = id() % tiles % across * BN
    with partition(C, block[1], lambda i, j: p * bs_c + (top + i) * rs_c + left + j, races="none") as target, group(block[1]):
        a: shared(float32[BK, BM + PAD], align=16)
        b: shared(float32[BK, BN + PAD], align=16)
        w: int32 @ warp[1] = id()
        down: int32 @ warp[1] = w // (BN // WN) * WM
        right: int32 @ warp[1] = w % (BN // WN) * WN
        lane: int32 @ thread[1] = id() % 32
        row: int32 @ thread[1] = down + (lane // (STEP_N // 2) * 2 + lane % 2) * 4
        col: int32 @ thread[1] = right + lane // 2 % (STEP_N // 4) * 4
        next_a: float4[BM * BK // (4 * THREADS)] @ thread[1]
        next_b: float4[BK * BN // (4 * THREADS)] @ thread[1]
        sums: float32[ROWS, COLS] @ thread[1] = {0}
        start_a: int64 @ block[1] = p * bs_a + top * rs_a
        start_b: int64 @ block[1] = p * bs_b + left * cs_b
        fetch(A, start_a, rs_a, cs_a, M - top, K, next_a, ALONG=ALONG_A, WIDE=WIDE_A, BK=BK, WIDTH=BM, THREADS=THREADS)
        fetch(B, start_b, cs_b, rs_b, N - left, K, next_b, ALONG=ALONG_B, WIDE=WIDE_B, BK=BK, WIDTH=BN, THREADS=THREADS)
        for first in range(BK, K + BK, BK):
            put(next_a, a, ALONG=ALONG_A, BK=BK, WIDTH=BM, THREADS=THREADS)
            put(next_b, b, ALONG=ALONG_B, BK=BK, WIDTH=BN, THREADS=THREADS)
            fetch(
                A, start_a + first * cs_a, rs_a, cs_a, M - top, K - first, next_a,
                ALONG=ALONG_A, WIDE=WIDE_A, BK=BK, WIDTH=BM, THREADS=THREADS,
            )
            fetch(
                B, start_b + first * rs_b, cs_b, rs_b, N - left, K - first, next_b,
                ALONG=ALONG_B, WIDE=WIDE_B, BK=BK, WIDTH=BN, THREADS=THREADS,
            )
            with group(thread[1]):
                add_products(a, b, row, col, sums, DOWN=STEP_M, RIGHT=STEP_N, UNROLL=UNROLL)
        with partition(target, thread[1], lambda i, j: (row + i, col + j), races="none") as mine, group(thread[1]):
            for i in range(ROWS):
                for j in range(0, COLS, 4):
                    y: int32 = i // 4 * STEP_M + i % 4
                    x: int32 = j // 4 * STEP_N
                    inside: int32 = N - (left + col + x) if top + row + y < M else 0
                    if WIDE_C and inside >= 4:
                        word: float4 = {0}
                        if beta != 0.0:
                            word = float4_cast(mine[y, x])
                        for v in range(4):
                            word[v] = alpha * sums[i, j + v] + beta * word[v]
                        float4_cast[mine[y, x]] = word
                    else:
                        for v in range(4):
                            if v < inside:
                                mine[y, x + v] = alpha * sums[i, j + v] + (beta * mine[y, x + v] if beta != 0.0 else 0.0)
