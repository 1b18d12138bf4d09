"""The ring of tiles without tensor copies, for Ampere: all threads of a block copy the next tiles in, and multiply."""

from __future__ import annotations

from prism.kernels.sgemm.cut import PAD, AsyncCut
from prism.kernels.sgemm.shares import in_shares
from prism.kernels.sgemm.sums import multiply, store, turn
from prism.lang import (
    async_, attr, block, const, constexpr, count, cp_async, float32, grid, group, id, int32, int64, partition, prism, ptr,
    requires, roles, shared, template, thread, warp,
)  # fmt: skip


@prism.kernel
@template(CUT=constexpr(AsyncCut), WIDE=constexpr(bool), BETA=constexpr(bool))
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def ring_async(
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], B: ptr(const(float32)) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], tile: int32 @ grid[1], end: int32 @ grid[1], share: int32 @ grid[1],
    group_m: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """As `ring`: `out = alpha * A @ B + beta * out` of the tiles from `tile` to `end`, or the parts that `combine` adds up to it.

    Shapes:      as `ring`, but A and B lie anyhow: `A[i * rs_a + kk * cs_a]`, `B[kk * rs_b + j * cs_b]`. Where `CUT.along_a`,
                 `CUT.along_b`, adjacent threads copy elements that are adjacent along k, one at a time; else four at a time where
                 `CUT.wide_a`, `CUT.wide_b`: elements lie side by side along that axis, and begin at multiples of 16 bytes. They
                 lie side by side across k where `CUT.dense_a`, `CUT.dense_b`.
    Cost:        `CUT.stages` tiles of A and B in shared memory; one barrier a step.
    Numerics:    as `ring`: the same bits.
    Test:        tests/kernels/test_sgemm_async.py, tests/gpu/test_sgemm.py
    """
    step_a: int64 @ grid[1] = 1 if CUT.side_a else rs_a  # elements from a row of A to the next, and in k
    down_a: int64 @ grid[1] = 1 if CUT.wide_a and CUT.along_a else cs_a
    step_b: int64 @ grid[1] = 1 if CUT.side_b else cs_b
    down_b: int64 @ grid[1] = 1 if CUT.wide_b and CUT.along_b else rs_b
    blocks: int32 @ grid[1] = count(block[1])
    p: int32 @ block[1] = id()
    with partition(out, block[1], 0, races="allow") as whole, group(block[1]):
        lane: int32 @ thread[1] = id() % 32
        w: int32 @ warp[1] = id()
        row: int32 @ thread[1] = w // CUT.across * 32 + lane // 2 % CUT.down * 4
        col: int32 @ thread[1] = w % CUT.across * CUT.wide + (lane // (2 * CUT.down) * 2 + lane % 2) * 4
        sums: float32[8, CUT.columns] @ thread[1]

        @requires(block[1], thread["CUT.threads"])
        def make_tile(
            i0: int32 @ block[1], j0: int32 @ block[1], start: int32 @ block[1], stop: int32 @ block[1],
            top: int32 @ block[1], left: int32 @ block[1], bottom: int32 @ block[1], right: int32 @ block[1],
        ):
            with group(thread[1]):
                for i in range(8):
                    for j in range(CUT.columns):
                        sums[i, j] = 0.0
            multiply_steps(sums, A, step_a, down_a, B, step_b, down_b, i0, j0, start, stop, m, n, k, row, col, CUT=CUT)
            if not WIDE:
                with group(warp[1]):
                    turn(sums, DOWN=CUT.down)
            with partition(whole, thread[1], 0, races="allow") as mine, group(thread[1]):
                first: int32 = col if WIDE else col - lane // (2 * CUT.down) % 4 * 7
                store(
                    mine, stride, sums, top + row, left + first, bottom, right, alpha, beta, DOWN=CUT.down, WIDE=WIDE, BETA=BETA,
                )  # fmt: skip

        in_shares(
            m, n, k, tile, end, share, group_m, p, blocks, BM=CUT.bm, BN=CUT.bn, BK=CUT.bk, THREADS=CUT.threads, TILE=make_tile,
        )  # fmt: skip


@prism.device
@template(CUT=constexpr(AsyncCut))
@requires(block[1], thread["CUT.threads"])
def multiply_steps(
    sums: float32[8, CUT.columns] @ thread[1], A: ptr(const(float32)) @ grid[1], step_a: int64 @ grid[1], down_a: int64 @ grid[1],
    B: ptr(const(float32)) @ grid[1], step_b: int64 @ grid[1], down_b: int64 @ grid[1], i0: int32 @ block[1],
    j0: int32 @ block[1], start: int32 @ block[1], stop: int32 @ block[1], m: int32 @ grid[1], n: int32 @ grid[1],
    k: int32 @ grid[1], row: int32 @ thread[1], col: int32 @ thread[1],
):
    """Add to the sums of a tile, whose corner is at i0, j0, the products of k from `start` to `stop`.

    Perspective: block; all threads copy tiles of the next steps, and multiply.
    Cost:        `CUT.stages` tiles of A and B in shared memory.
    """
    a: shared(float32[CUT.bk, CUT.width_a], ring=CUT.stages)
    b: shared(float32[CUT.bk, CUT.width_b], ring=CUT.stages)
    t: int32 @ thread[1] = id()
    ka: int32 @ thread[1] = t % 8 if CUT.along_a else t // CUT.lanes_a  # what the thread copies first, in k and across
    ia: int32 @ thread[1] = t // 8 if CUT.along_a else t % CUT.lanes_a * CUT.each_a
    kb: int32 @ thread[1] = t % 8 if CUT.along_b else t // CUT.lanes_b
    jb: int32 @ thread[1] = t // 8 if CUT.along_b else t % CUT.lanes_b * CUT.each_b
    from_a: int64 @ thread[1] = (i0 + ia) * step_a + ka * down_a
    from_b: int64 @ thread[1] = (j0 + jb) * step_b + kb * down_b
    everyone = roles(warp, CUT.warps)

    @requires(block[1], thread["CUT.threads"])
    def fill(step: int32 @ block[1]):
        with partition(a, block[1]) as to:
            copy(
                A, from_a, step_a, down_a, ka, ia, step, k, m - i0, to, ALONG=CUT.along_a, EACH=CUT.each_a,
                LANES=CUT.lanes_a, CUT=CUT,
            )  # fmt: skip
        with partition(b, block[1]) as to:
            copy(
                B, from_b, step_b, down_b, kb, jb, step, k, n - j0, to, ALONG=CUT.along_b, EACH=CUT.each_b,
                LANES=CUT.lanes_b, CUT=CUT,
            )  # fmt: skip

    @requires(warp["CUT.warps"])
    def use(
        of_a: shared(float32[CUT.bk, CUT.width_a]) @ warp[CUT.warps],
        of_b: shared(float32[CUT.bk, CUT.width_b]) @ warp[CUT.warps], step: int32 @ warp[CUT.warps],
    ):
        with group(thread[1]):
            multiply(of_a, of_b, row, col, CUT.bk, sums, DOWN=CUT.down)

    grid.pipeline(a, b, everyone, start, stop, THREADS=CUT.threads, STEP=CUT.bk, FILL=fill, USE=use)


@prism.device
@template(CUT=constexpr(AsyncCut), ALONG=constexpr(bool), EACH=constexpr(int), LANES=constexpr(int), WIDTH=constexpr(int))
@requires(block[1], thread["CUT.threads"])
def copy(
    x: ptr(const(float32)) @ grid[1], at: int64 @ thread[1], apart: int64 @ grid[1], near: int64 @ grid[1],
    below: int32 @ thread[1], right: int32 @ thread[1], step: int32 @ block[1], k: int32 @ grid[1], left: int32 @ block[1],
    tile: shared(float32[CUT.bk, WIDTH]) @ block[1],
):
    """Copy a tile, `EACH` elements at a time: this thread's first, `tile[below, right]`, is `x[at + step * near]`.

    Perspective: block; adjacent threads copy what is adjacent in k where `ALONG`, else, `LANES` of them, across it.
    Shapes:      the tile's rows end with `PAD` elements that nobody reads. `x` has `left` elements across, counted from the
                 tile's first, and ends at `k`: beyond them the tile is 0.
    """
    WIDE: constexpr(int) = WIDTH - PAD
    DOWN: constexpr(int) = 8 if ALONG else CUT.threads // LANES  # of a tile, in k, that all threads copy at a time
    SIDE: constexpr(int) = CUT.threads // 8 if ALONG else LANES * EACH  # the same across k
    with partition(tile, thread[1], lambda q, v: (below + q, right + v)) as mine, async_(mine) as coming, group(thread[1]):
        place: int64 = at + step * near
        if step <= k - CUT.bk and WIDE <= left:
            for s in range(CUT.bk // DOWN, unroll=True):
                for r in range(WIDE // SIDE, unroll=True):
                    cp_async(coming[DOWN * s, SIDE * r], x[place + SIDE * r * apart], 4 * EACH)
                place += DOWN * near
        else:
            for s in range(CUT.bk // DOWN, unroll=True):
                for r in range(WIDE // SIDE, unroll=True):
                    cp_async(
                        coming[DOWN * s, SIDE * r], x[place + SIDE * r * apart], 4 * EACH,
                        valid_bytes(left - right - SIDE * r, EACH) if step + below + DOWN * s < k else 0,
                    )  # fmt: skip
                place += DOWN * near


@prism.device
@requires(thread[1])
def valid_bytes(left: int32 @ thread[1], each: int32 @ thread[1]) -> int32 @ thread[1]:
    """Return how many bytes of `each` elements there are, where `left` are left."""
    return max(min(left, each), 0) * 4
