"""The ring of tiles without tensor copies, for Ampere: all threads of a block copy the next tiles in, and multiply."""

from __future__ import annotations

from prism.kernels.sgemm.ring import PAD
from prism.kernels.sgemm.sums import multiply, place, store
from prism.lang import (
    async_, attr, block, const, constexpr, count, cp_async, float32, grid, group, id, int2, int32, int64, partition, prism, ptr,
    requires, shared, template, thread, warp,
)


@prism("global")
@template(
    ALONG_A=constexpr(bool), WIDE_A=constexpr(bool), ALONG_B=constexpr(bool), WIDE_B=constexpr(bool),
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int), COLUMNS=constexpr(int),
    THREADS=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool), BETA=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def ring_async(
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1],
    B: ptr(const(float32)) @ grid[1], rs_b: int64 @ grid[1], cs_b: int64 @ grid[1],
    out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
    tile: int32 @ grid[1], end: int32 @ grid[1], share: int32 @ grid[1], group_m: int32 @ grid[1], alpha: float32 @ grid[1],
    beta: float32 @ grid[1],
):
    """As `ring`: `out = alpha * A @ B + beta * out` of the tiles from `tile` to `end`, or the parts that `combine` adds up to it.

    Perspective: grid, of any number of blocks of `BM / 32 * BN / (8 * COLUMNS)` warps.
    Shapes:      as `ring`, but A and B lie anyhow: `A[i * rs_a + kk * cs_a]`, `B[kk * rs_b + j * cs_b]`. `ALONG_A`, `ALONG_B`:
                 adjacent threads copy elements that are adjacent along k, one at a time; else four at a time where `WIDE_A`,
                 `WIDE_B`, which say that elements lie side by side along that axis, and begin at multiples of 16 bytes.
    Cost:        `STAGES` tiles of `BK x (BM + PAD)` and of `BK x (BN + PAD)` in shared memory; one barrier a step.
    Numerics:    as `ring`: the same bits.
    Test:        tests/kernels/test_sgemm_async.py, tests/gpu/test_sgemm.py
    """
    ACROSS: constexpr(int) = BN / (8 * COLUMNS)  # warps
    EACH_A: constexpr(int) = 4 if WIDE_A and not ALONG_A else 1  # elements that are copied at a time
    EACH_B: constexpr(int) = 4 if WIDE_B and not ALONG_B else 1
    tiles_m: int32 @ grid[1] = (m + (BM - 1)) / BM
    tiles_n: int32 @ grid[1] = (n + (BN - 1)) / BN
    steps: int32 @ grid[1] = (k + (BK - 1)) / BK
    step_a: int64 @ grid[1] = 1 if WIDE_A and not ALONG_A else rs_a  # elements from a row of A to the next, and in k
    down_a: int64 @ grid[1] = 1 if WIDE_A and ALONG_A else cs_a
    step_b: int64 @ grid[1] = 1 if WIDE_B and not ALONG_B else cs_b
    down_b: int64 @ grid[1] = 1 if WIDE_B and ALONG_B else rs_b
    blocks: int32 @ grid[1] = count(block[1])
    p: int32 @ block[1] = id()
    split: bool @ grid[1] = share < steps
    first: int32 @ block[1] = p * share if split else 0  # step
    last: int32 @ block[1] = min(first + share, (end - tile) * steps) if split else steps
    units: int32 @ block[1] = (last - 1) / steps - first / steps + 1 if split else (end - tile - p + (blocks - 1)) / blocks
    with partition(out, block[1], 0, races="allow") as whole, group(block[1]):
        a: shared(float32[BK, BM + PAD], ring=STAGES)
        b: shared(float32[BK, BN + PAD], ring=STAGES)
        t: int32 @ thread[1] = id()
        ka: int32 @ thread[1] = t % 8 if ALONG_A else t * EACH_A / BM  # what the thread copies first, in k and across
        ia: int32 @ thread[1] = t / 8 if ALONG_A else t * EACH_A % BM
        kb: int32 @ thread[1] = t % 8 if ALONG_B else t * EACH_B / BN
        jb: int32 @ thread[1] = t / 8 if ALONG_B else t * EACH_B % BN
        lane: int32 @ thread[1] = t % 32
        w: int32 @ warp[1] = id()
        row: int32 @ thread[1] = w / ACROSS * 32 + lane / 2 % 4 * 4
        col: int32 @ thread[1] = w % ACROSS * (8 * COLUMNS) + (lane / 8 * 2 + lane % 2) * 4
        sums: float32[8, COLUMNS] @ thread[1]
        for unit in range(units):
            behind: int32 @ block[1] = first / steps + unit if split else p + unit * blocks  # of `tile`
            start: int32 @ block[1] = max(first - behind * steps, 0) if split else 0
            stop: int32 @ block[1] = min(last - behind * steps, steps) if split else steps
            corner: int2 @ block[1] = place(tile + behind, group_m, tiles_m, tiles_n)
            i0: int32 @ block[1] = corner[0] * BM
            j0: int32 @ block[1] = corner[1] * BN
            from_a: int64 @ thread[1] = (i0 + ia) * step_a + ka * down_a
            from_b: int64 @ thread[1] = (j0 + jb) * step_b + kb * down_b
            with group(thread[1]):
                for i in range(8):
                    for j in range(COLUMNS):
                        sums[i, j] = 0.0
            for step in range(start * BK, stop * BK, BK):
                with partition(a, block[1]) as to:
                    copy(A, from_a, step_a, down_a, ka, ia, step, k, m - i0, to, ALONG=ALONG_A, EACH=EACH_A, THREADS=THREADS)
                with partition(b, block[1]) as to:
                    copy(B, from_b, step_b, down_b, kb, jb, step, k, n - j0, to, ALONG=ALONG_B, EACH=EACH_B, THREADS=THREADS)
                with partition(a, block[1]) as sa, partition(b, block[1]) as sb, group(thread[1]):
                    multiply(sa, sb, row, col, sums)
            top: int32 @ thread[1] = (2 * p + unit) * BM if split else i0
            left: int32 @ thread[1] = 0 if split else j0
            bottom: int32 @ thread[1] = top + BM if split else m
            right: int32 @ thread[1] = BN if split else n
            with partition(whole, thread[1], 0, races="allow") as mine, group(thread[1]):
                store(
                    mine, stride, sums, top + row, left + col, bottom, right, alpha, beta,
                    COLUMNS=COLUMNS, WIDE=WIDE, BETA=BETA,
                )


@prism("device")
@template(ALONG=constexpr(bool), EACH=constexpr(int), BK=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
@requires(block[1], thread[THREADS])
def copy(
    x: ptr(const(float32)) @ grid[1], at: int64 @ thread[1], apart: int64 @ grid[1], near: int64 @ grid[1],
    below: int32 @ thread[1], right: int32 @ thread[1], step: int32 @ block[1], k: int32 @ grid[1], left: int32 @ block[1],
    tile: shared(float32[BK, WIDTH]) @ block[1],
):
    """Copy a tile, `EACH` elements at a time: this thread's first, `tile[below, right]`, is `x[at + step * near]`.

    Perspective: block; adjacent threads copy what is adjacent in k where `ALONG`, else across it.
    Shapes:      the tile's rows end with `PAD` elements that nobody reads. `x` has `left` elements across, counted from the
                 tile's first, and ends at `k`: beyond them the tile is 0.
    """
    WIDE: constexpr(int) = WIDTH - PAD
    DOWN: constexpr(int) = 8 if ALONG else THREADS * EACH / WIDE  # of a tile, in k, that all threads copy at a time
    SIDE: constexpr(int) = THREADS / 8 if ALONG else WIDE  # the same across k
    with partition(tile, thread[1], lambda q, v: (below + q, right + v)) as mine, async_(mine) as coming, group(thread[1]):
        for r in range(WIDE / SIDE, unroll=True):
            for s in range(BK / DOWN, unroll=True):
                cp_async(
                    coming[DOWN * s, SIDE * r], x[at + (step + DOWN * s) * near + SIDE * r * apart], 4 * EACH,
                    valid_bytes(left - right - SIDE * r, EACH) if step + below + DOWN * s < k else 0,
                )


@prism("device")
@requires(thread[1])
def valid_bytes(left: int32 @ thread[1], each: int32 @ thread[1]) -> int32 @ thread[1]:
    """Return how many bytes of `each` elements there are, where `left` are left."""
    return max(min(left, each), 0) * 4
