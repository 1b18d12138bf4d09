"""Matrix multiplication in float32 by Hopper's ordinary cores: a ring of tiles that a few warps copy in, and an order of sums.

The multiply-adds, and their order, are in `sums`. docs/sgemm.md has what it gives.
"""

from __future__ import annotations

from prism.kernels.sgemm.sums import multiply, place, store
from prism.lang import (
    CUtensorMap, async_, attr, block, claim, const, constexpr, count, cp_async, float32, grid, group, id, int2, int32, int64, one,
    partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared, template, thread, tma_load, warp, warpgroup,
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
    tile: int32 @ grid[1], end: int32 @ grid[1], share: int32 @ grid[1], group_m: int32 @ grid[1], alpha: float32 @ grid[1],
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
                 shares. m, n, k, `share`, `group_m` are at least 1. `BM` is a multiple of 64, `BK` 32 or 64, `COLUMNS` (of a
                 thread; it has 8 rows) 4, 8 or 16; `UNROLL` 1 or 2.
    Cost:        `STAGES` tiles of `BK x BM` and of `BK x BN` in shared memory, rows longer by `PAD` where threads copy them.
                 In 2 k a thread does 16 * `COLUMNS` multiply-adds, and reads 4 + `COLUMNS` / 2 vectors of 16 bytes.
    Numerics:    fused multiply-adds in float32, one after the other in k.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    ACROSS: constexpr(int) = BN / (8 * COLUMNS)  # warps
    WARPS: constexpr(int) = BM / 32 * ACROSS
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
    with partition(out, thread[1], 0, races="none") as mine, group(block[1]):  # elements of its own, of tiles or of parts
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
            corner: int2 @ block[1] = place(tile + behind, group_m, tiles_m, tiles_n)
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
                        copy(A, rs_a, near_a, i0, step, m, k, sa, ALONG=ALONG_A, UNROLL=UNROLL)
                if TENSOR_B and not TENSOR_A:
                    with claim(b, loader) as sb, one(thread):
                        tma_load(sb, B[step, j0])
                if not TENSOR_B:
                    with claim(b, helpers) as sb:
                        copy(B, cs_b, near_b, j0, step, n, k, sb, ALONG=ALONG_B, UNROLL=UNROLL)
                with claim(a, math) as sa, claim(b, math) as sb, group(thread[1]):
                    multiply(sa, sb, row, col, sums)
            with math, group(thread[1]):
                top: int32 = (2 * p + unit) * BM if split else i0
                left: int32 = 0 if split else j0
                bottom: int32 = top + BM if split else m
                right: int32 = BN if split else n
                store(
                    mine, stride, sums, top + row, left + col, bottom, right, alpha, beta, COLUMNS=COLUMNS, WIDE=WIDE, BETA=BETA,
                )


@prism("device")
@template(ALONG=constexpr(bool), BK=constexpr(int), WIDTH=constexpr(int), UNROLL=constexpr(int))
@requires(warpgroup[1])
def copy(
    x: ptr(const(float32)) @ grid[1], apart: int64 @ grid[1], near: int64 @ grid[1], first: int32 @ block[1],
    step: int32 @ block[1], end: int32 @ grid[1], k: int32 @ grid[1], tile: shared(float32[BK, WIDTH]) @ warpgroup[1],
):
    """`tile[q, v] = x[(first + v) * apart + (step + q) * near]`, and 0 from k on, by asynchronous copies of 4 bytes.

    Perspective: a warpgroup; adjacent threads copy what is adjacent in k where `ALONG`, else across it.
    Shapes:      `tile`: `BK` by 64, 128 or 256, and `PAD` that nobody reads. Beyond `end`, the last of `x` comes again.
    """
    WIDE: constexpr(int) = WIDTH - PAD
    DOWN: constexpr(int) = 8 if ALONG else (128 / WIDE if WIDE < 128 else 1)  # of a tile, in k, that 128 threads copy at a time
    SIDE: constexpr(int) = 128 / DOWN  # the same across k
    t: int32 @ thread[1] = id()
    below: int32 @ thread[1] = t % 8 if ALONG else t / SIDE
    right: int32 @ thread[1] = t / 8 if ALONG else t % SIDE
    with partition(tile, thread[1], lambda q, v: (below + q, right + v)) as my, async_(my) as to, group(thread[1]):
        at: int64 = min(first + right, end - 1) * apart + (step + below) * near
        others: int32 = end - first - right
        left: int32 = k - step - below
        if step + BK <= k:
            for r in range(0, WIDE, SIDE, unroll=UNROLL):
                for s in range(0, BK, DOWN, unroll=8):
                    cp_async(to[s, r], x[at + s * near], 4)
                others -= SIDE
                if others > 0:
                    at += SIDE * apart
        else:
            for r in range(0, WIDE, SIDE, unroll=UNROLL):
                for s in range(0, BK, DOWN, unroll=8):
                    cp_async(to[s, r], x[at + s * near], 4, 4 if s < left else 0)
                others -= SIDE
                if others > 0:
                    at += SIDE * apart
