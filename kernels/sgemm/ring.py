"""Matrix multiplication in float32 by Hopper's ordinary cores: a ring of tiles that a few warps copy in, and an order of sums.

The multiply-adds, and their order, are in `sums`. docs/sgemm.md has what it gives.
"""

from __future__ import annotations

from prism.kernels.sgemm.sums import add_row, place, store
from prism.lang import (
    CUtensorMap, async_, attr, block, claim, const, constexpr, count, cp_async, float4, float4_cast, float32, grid, group, id,
    int2, int32, int64, keep_order, one, partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared, template,
    thread, tma_load, warp, warpgroup,
)

PAD = 4
"""Elements that a row of a tile is longer where threads copy it: what a warp copies, 8 in k by 4, is then of 32 banks."""


@prism("global")
@template(
    TENSOR_A=constexpr(bool), ALONG_A=constexpr(bool), TENSOR_B=constexpr(bool), ALONG_B=constexpr(bool),
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int), COLUMNS=constexpr(int),
    THREADS=constexpr(int), BLOCKS=constexpr(int), WORKER_REGISTERS=constexpr(int), HELPER_REGISTERS=constexpr(int),
    UNROLL=constexpr(int), WIDE=constexpr(bool), BETA=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def ring(
    A: (const(CUtensorMap(float32, BK, BM)) if TENSOR_A else ptr(const(float32))) @ grid[1],
    rs_a: int64 @ grid[1], cs_a: int64 @ grid[1],
    B: (const(CUtensorMap(float32, BK, BN)) if TENSOR_B else ptr(const(float32))) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1],
    out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
    tile: int32 @ grid[1], end: int32 @ grid[1], share: int32 @ grid[1], tall: int32 @ grid[1], alpha: float32 @ grid[1],
    beta: float32 @ grid[1],
):
    """`out = alpha * A @ B + beta * out` of the tiles from `tile` to `end`, or the parts of them that `combine` adds up to it.

    A block has a tile's whole sum, and goes on to further tiles. Or `share` is less than a tile's steps, each of `BK` in k: then
    steps are numbered, a tile's after those of the tile before, and the p-th block does `share` of them from `p * share` on, the
    end of one tile, maybe, and the beginning of the next. What it adds up of the first is part 2 p, of the second 2 p + 1.

    Perspective: grid, of any number of blocks of `BM / 32 * BN / (8 * COLUMNS)` warps that multiply (a multiple of 4), and 4.
    Shapes:      `A`: a map of k x m, of a column-major A, where `TENSOR_A`; else `A[i * rs_a + kk * cs_a]`, which the four other
                 warps copy by 4 bytes: adjacent threads in k, side by side in memory (`cs_a` is 1), where `ALONG_A`, else in m.
                 `B` alike: a map of k x n, of a row-major B; or `B[kk * rs_b + j * cs_b]`, and `rs_b` is 1 where `ALONG_B`.
                 `out`: m x n, its rows `stride` elements apart, all at multiples of 16 bytes, and n a multiple of 4, where
                 `WIDE`. Or it has two parts for each block, of BM x BN, `stride` is BN, and there are as many blocks as
                 shares. m, n, k, `share`, `tall` are at least 1. `BM` is a multiple of 64, `BK` 32 or 64, `COLUMNS` (of a
                 thread; it has 8 rows) 4, 8 or 16; `UNROLL` 1 or 2.
    Cost:        `STAGES` tiles of `BK x BM` and of `BK x BN` in shared memory, rows longer by `PAD` where threads copy them.
                 In 2 k a thread does 16 * `COLUMNS` multiply-adds, and reads 4 + `COLUMNS` / 2 vectors of 16 bytes.
    Numerics:    fused multiply-adds in float32, one after the other in k.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    ACROSS: constexpr(int) = BN / (8 * COLUMNS)  # warps
    WARPS: constexpr(int) = BM / 32 * ACROSS
    DOWN_A: constexpr(int) = 8 if ALONG_A else (128 / BM if BM < 128 else 1)  # of a tile, in k, that 128 threads copy at a time
    SIDE_A: constexpr(int) = 128 / DOWN_A  # the same across k
    DOWN_B: constexpr(int) = 8 if ALONG_B else (128 / BN if BN < 128 else 1)
    SIDE_B: constexpr(int) = 128 / DOWN_B
    tiles_m: int32 @ grid[1] = (m + (BM - 1)) / BM
    tiles_n: int32 @ grid[1] = (n + (BN - 1)) / BN
    steps: int32 @ grid[1] = (k + (BK - 1)) / BK
    near_a: int64 @ grid[1] = 1 if ALONG_A else cs_a  # elements from a k to the next
    near_b: int64 @ grid[1] = 1 if ALONG_B else rs_b
    blocks: int32 @ grid[1] = count(block[1])
    p: int32 @ block[1] = id()
    split: bool @ grid[1] = share < steps
    first: int32 @ block[1] = p * share if split else 0  # step
    last: int32 @ block[1] = min(first + share, (end - tile) * steps) if split else steps
    units: int32 @ block[1] = (last - 1) / steps - first / steps + 1 if split else (end - tile - p + (blocks - 1)) / blocks
    with partition(out, block[1], 0, races="allow") as whole, group(block[1]):
        a: shared(float32[BK, BM if TENSOR_A else BM + PAD], ring=STAGES)
        b: shared(float32[BK, BN if TENSOR_B else BN + PAD], ring=STAGES)
        workers, helpers = roles(warpgroup, WARPS / 4, 1)
        math, loader = roles(warp, WARPS, 1)
        if WORKER_REGISTERS > 0:
            with helpers:
                set_registers(HELPER_REGISTERS)
            with workers:
                set_registers(WORKER_REGISTERS)
        if TENSOR_A:
            with loader, one(thread):
                prefetch_map(A)
        if TENSOR_B:
            with loader, one(thread):
                prefetch_map(B)
        # A warp has 32 rows and 8 * COLUMNS columns; lanes 4 down, 8 across. Pairs of lanes read the same, in both directions.
        lane: int32 @ thread[1] = id() % 32
        w: int32 @ warp[1] = id()
        band: int32 @ warp[1] = w / ACROSS
        down: int32 @ thread[1] = lane / 2 % 4
        row: int32 @ thread[1] = band * 32 + 4 * down
        col: int32 @ thread[1] = w % ACROSS * (8 * COLUMNS) + (lane / 8 * 2 + lane % 2) * 4
        sums: float32[8, COLUMNS] @ thread[1]
        for unit in range(units):
            behind: int32 @ block[1] = first / steps + unit if split else p + unit * blocks  # of `tile`
            start: int32 @ block[1] = max(first - behind * steps, 0) if split else 0
            stop: int32 @ block[1] = min(last - behind * steps, steps) if split else steps
            corner: int2 @ block[1] = place(tile + behind, tall, tiles_m, tiles_n)
            i0: int32 @ block[1] = corner[0] * BM
            j0: int32 @ block[1] = corner[1] * BN
            with math, group(thread[1]):
                for i in range(8):
                    for j in range(COLUMNS):
                        sums[i, j] = 0.0
            for step in range(start * BK, stop * BK, BK):
                if TENSOR_A:
                    with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                        tma_load(sa, A[step, i0])
                        tma_load(sb, B[step, j0])
                else:
                    with claim(a, helpers) as sa:
                        t: int32 @ thread[1] = id()
                        ka: int32 @ thread[1] = t % 8 if ALONG_A else t / SIDE_A
                        ia: int32 @ thread[1] = t / 8 if ALONG_A else t % SIDE_A
                        with partition(sa, thread[1], lambda q, v: (ka + q, ia + v)) as my, async_(my) as to, group(thread[1]):
                            at: int64 = min(i0 + ia, m - 1) * rs_a + (step + ka) * near_a
                            below: int32 = m - i0 - ia
                            left: int32 = k - step - ka
                            if step + BK <= k:
                                for r in range(0, BM, SIDE_A, unroll=UNROLL):
                                    for s in range(0, BK, DOWN_A, unroll=8):
                                        cp_async(to[s, r], A[at + s * near_a], 4)
                                    below -= SIDE_A
                                    if below > 0:
                                        at += SIDE_A * rs_a
                            else:
                                for r in range(0, BM, SIDE_A, unroll=UNROLL):
                                    for s in range(0, BK, DOWN_A, unroll=8):
                                        cp_async(to[s, r], A[at + s * near_a], 4, 4 if s < left else 0)
                                    below -= SIDE_A
                                    if below > 0:
                                        at += SIDE_A * rs_a
                if TENSOR_B and not TENSOR_A:
                    with claim(b, loader) as sb, one(thread):
                        tma_load(sb, B[step, j0])
                if not TENSOR_B:
                    with claim(b, helpers) as sb:
                        t: int32 @ thread[1] = id()
                        kb: int32 @ thread[1] = t % 8 if ALONG_B else t / SIDE_B
                        jb: int32 @ thread[1] = t / 8 if ALONG_B else t % SIDE_B
                        with partition(sb, thread[1], lambda q, v: (kb + q, jb + v)) as my, async_(my) as to, group(thread[1]):
                            at: int64 = min(j0 + jb, n - 1) * cs_b + (step + kb) * near_b
                            below: int32 = n - j0 - jb
                            left: int32 = k - step - kb
                            if step + BK <= k:
                                for r in range(0, BN, SIDE_B, unroll=UNROLL):
                                    for s in range(0, BK, DOWN_B, unroll=8):
                                        cp_async(to[s, r], B[at + s * near_b], 4)
                                    below -= SIDE_B
                                    if below > 0:
                                        at += SIDE_B * cs_b
                            else:
                                for r in range(0, BN, SIDE_B, unroll=UNROLL):
                                    for s in range(0, BK, DOWN_B, unroll=8):
                                        cp_async(to[s, r], B[at + s * near_b], 4, 4 if s < left else 0)
                                    below -= SIDE_B
                                    if below > 0:
                                        at += SIDE_B * cs_b
                with claim(a, math) as sa, claim(b, math) as sb, group(thread[1]):
                    av: float4[4]
                    bv: float4[8]
                    for i in range(2):
                        av[i] = float4_cast(sa[0, row + 16 * i])
                    for q in range(COLUMNS / 4):
                        bv[q] = float4_cast(sb[0, col + 32 * q])
                    for kk in range(0, BK, 2, unroll=4):
                        for u in range(2):
                            after: int32 = kk + u + 1 & BK - 1  # the next k; after the last one any, for nothing
                            for i in range(8):
                                add_row(sums, av[2 * u + i / 4][i % 4], bv, i, u, COLUMNS=COLUMNS)
                                for q in range(COLUMNS / 4):  # a few rows apart
                                    if 16 * q / COLUMNS / 2 * 2 == i:
                                        bv[4 * (1 - u) + q] = float4_cast(sb[after, col + 32 * q])
                                if i % 4 == 3:
                                    av[2 * (1 - u) + i / 4] = float4_cast(sa[after, row + 16 * (i / 4)])
                                keep_order()
            with claim(whole, math) as target:
                top: int32 @ thread[1] = (2 * p + unit) * BM if split else i0
                left: int32 @ thread[1] = 0 if split else j0
                bottom: int32 @ thread[1] = top + BM if split else m
                right: int32 @ thread[1] = BN if split else n
                with partition(target, thread[1], 0, races="allow") as mine, group(thread[1]):
                    store(
                        mine, stride, sums, top + row, left + col, bottom, right, alpha, beta,
                        COLUMNS=COLUMNS, WIDE=WIDE, BETA=BETA,
                    )
