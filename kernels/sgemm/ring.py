"""Matrix multiplication in float32 by Hopper's ordinary cores: a ring of tiles that a few warps copy in, and an order of sums.

The multiply-adds, and their order, are in `sums`. docs/sgemm.md has what it gives.
"""

from __future__ import annotations

from prism.kernels.hgemm.main_loop import share_registers
from prism.kernels.sgemm.cut import PAD, RingCut
from prism.kernels.sgemm.shares import in_shares
from prism.kernels.sgemm.sums import BETWEEN, multiply, spread, store, store_spread
from prism.lang import (
    CUtensorMap, async_, attr, block, claim, const, constexpr, count, cp_async, float32, function, grid, group, id, int32,
    int64, one, partition, prefetch_map, prism, ptr, requires, roles, shared, template, thread, tma_load, warp, warpgroup,
)  # fmt: skip

SHORT = 1024
"""Of K: as far as what an epilogue reads is asked for before a tile's sums are made."""


@prism.kernel
@template(CUT=constexpr(RingCut), WIDE=constexpr(bool), BETA=constexpr(bool))
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def ring(
    A: (const(CUtensorMap(float32, CUT.bk, CUT.bm)) if CUT.tensor_a else ptr(const(float32))) @ grid[1], rs_a: int64 @ grid[1],
    cs_a: int64 @ grid[1], B: (const(CUtensorMap(float32, CUT.bk, CUT.bn)) if CUT.tensor_b else ptr(const(float32))) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], tile: int32 @ grid[1], end: int32 @ grid[1], share: int32 @ grid[1],
    group_m: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """`out = alpha * A @ B + beta * out` of the tiles from `tile` to `end`, or the parts of them that `combine` adds up to it.

    Perspective: grid, of any number of blocks; `in_shares` says what each of them makes.
    Shapes:      `A`: a map of k x m, of a column-major A, where `CUT.tensor_a`; else `A[i * rs_a + kk * cs_a]`, which the helpers
                 copy by 4 bytes, or 8; `cs_a` is 1 where `CUT.along_a`, `rs_a` where `CUT.dense_a`. `B` alike: a map of k x n,
                 or `B[kk * rs_b + j * cs_b]`. `out`: m x n, its rows `stride` elements apart, all at multiples of 16 bytes, and n
                 a multiple of 4, where `WIDE`; or parts, and `stride` is `CUT.bn`. m, n, k, `share`, `group_m` are at least 1.
    Cost:        in 2 k a thread does 16 * `CUT.columns` multiply-adds, and reads 4 + `CUT.columns` / 2 vectors of 16 bytes.
    Numerics:    fused multiply-adds in float32, one after the other in k.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    p: int32 @ block[1] = id()
    with partition(out, thread[1], 0, races="none") as mine, group(block[1]):  # elements of its own, of tiles or of parts

        @requires(thread[1])
        def store_sums(
            sums: float32[8, CUT.columns] @ thread[1], top: int32 @ thread[1], left: int32 @ thread[1], bottom: int32 @ thread[1],
            right: int32 @ thread[1],
        ):
            if WIDE:
                store(mine, stride, sums, top, left, bottom, right, alpha, beta, DOWN=CUT.down, WIDE=WIDE, BETA=BETA)
            else:
                store_spread(mine, stride, sums, top, left, bottom, right, alpha, beta, DOWN=CUT.down, BETA=BETA)

        make_tiles(
            A, rs_a, cs_a, B, rs_b, cs_b, m, n, k, tile, end, share, group_m, p, blocks, CUT=CUT, WIDE=WIDE, STORE=store_sums,
            ASKS=False, ASK=ask_nothing,
        )  # fmt: skip


@prism.device
@requires(thread[1])
def ask_nothing(
    row: int32 @ thread[1], top: int32 @ block[1], left: int32 @ block[1], bottom: int32 @ block[1], right: int32 @ block[1]
):
    """Ask for nothing: what is stored is of the sums alone."""


@prism.device
@template(CUT=constexpr(RingCut), WIDE=constexpr(bool), STORE=function, ASKS=constexpr(bool), ASK=function)
@requires(block[1], thread["CUT.threads"])
def make_tiles(
    A: (const(CUtensorMap(float32, CUT.bk, CUT.bm)) if CUT.tensor_a else ptr(const(float32))) @ grid[1], rs_a: int64 @ grid[1],
    cs_a: int64 @ grid[1], B: (const(CUtensorMap(float32, CUT.bk, CUT.bn)) if CUT.tensor_b else ptr(const(float32))) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
    tile: int32 @ grid[1], end: int32 @ grid[1], share: int32 @ grid[1], group_m: int32 @ grid[1], p: int32 @ block[1],
    blocks: int32 @ grid[1],
):
    """Make what `ring` says, of its arguments: `STORE(sums, top, left, bottom, right)` by each thread that multiplies.

    Of its elements the first is at `top`, `left`; those from `bottom` and from `right` on are none of the result. Unless `WIDE`
    sums are turned. Where it `ASKS`, a helper asks first for what will be read beside a row's sums: `ASK(row, top, left, bottom,
    right)`. Of a long K it does not: what is asked for would take the operands' room in the L2 for all that time.

    Perspective: block, the `p`-th of `blocks`.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    workers, helpers = roles(warpgroup, CUT.warps // 4, 1)
    math, loader = roles(warp, CUT.warps, 1)
    share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
    with loader, one(thread):
        if CUT.tensor_a:
            prefetch_map(A)
        if CUT.tensor_b:
            prefetch_map(B)
    lane: int32 @ thread[1] = id() % 32  # 4 down, 8 across; pairs read the same, in both directions
    w: int32 @ warp[1] = id()
    row: int32 @ thread[1] = w // CUT.across * 32 + lane // 2 % CUT.down * 4
    col: int32 @ thread[1] = w % CUT.across * CUT.wide + (lane // (2 * CUT.down) * 2 + lane % 2) * 4
    sums: float32[8, CUT.columns] @ thread[1]
    own: int32 @ thread[1] = id() % 128
    room: shared(float32[1 if WIDE else CUT.warps * CUT.down, 1 if WIDE else CUT.wide + BETWEEN])

    @requires(block[1], thread["CUT.threads"])
    def make_tile(
        i0: int32 @ block[1], j0: int32 @ block[1], start: int32 @ block[1], stop: int32 @ block[1],
        top: int32 @ block[1], left: int32 @ block[1], bottom: int32 @ block[1], right: int32 @ block[1],
    ):
        with math, group(thread[1]):
            for i in range(8):
                for j in range(CUT.columns):
                    sums[i, j] = 0.0
        if ASKS:
            with helpers, group(thread[1]):
                for row in range(own, CUT.bm, 128):
                    if stop - start <= SHORT:
                        ASK(row, top, left, bottom, right)
        multiply_steps(
            sums, math, helpers, loader, A, rs_a, cs_a, B, rs_b, cs_b, i0, j0, start, stop, m, n, k, row, col, CUT=CUT,
        )  # fmt: skip
        if not WIDE:
            with claim(room, math) as all, partition(all, warp[1], lambda y, x: (w * CUT.down + y, x)) as part, group(warp[1]):
                spread(part, sums, ROWS=CUT.warps * CUT.down, DOWN=CUT.down)
        with math, group(thread[1]):
            first: int32 = col if WIDE else w % CUT.across * CUT.wide + lane
            STORE(sums, top + (row if WIDE else w // CUT.across * 32), left + first, bottom, right)

    in_shares(
        m, n, k, tile, end, share, group_m, p, blocks, BM=CUT.bm, BN=CUT.bn, BK=CUT.bk, THREADS=CUT.threads, TILE=make_tile,
    )  # fmt: skip


@prism.device
@template(CUT=constexpr(RingCut))
@requires(block[1], thread["CUT.threads"])
def multiply_steps(
    sums: float32[8, CUT.columns] @ thread[1], math: roles(warp, CUT.warps), helpers: roles(warpgroup, 1), loader: roles(warp, 1),
    A: (const(CUtensorMap(float32, CUT.bk, CUT.bm)) if CUT.tensor_a else ptr(const(float32))) @ grid[1],
    rs_a: int64 @ grid[1], cs_a: int64 @ grid[1],
    B: (const(CUtensorMap(float32, CUT.bk, CUT.bn)) if CUT.tensor_b else ptr(const(float32))) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], i0: int32 @ block[1], j0: int32 @ block[1], start: int32 @ block[1],
    stop: int32 @ block[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], row: int32 @ thread[1],
    col: int32 @ thread[1],
):
    """Add to the sums of a tile, whose corner is at i0, j0, the products of k from `start` to `stop`.

    Perspective: block; the loader, or all helpers, copy tiles of the next steps while the others multiply.
    Cost:        `CUT.stages` tiles of A and B in shared memory.
    """
    a: shared(float32[CUT.bk, CUT.width_a], ring=CUT.stages)
    b: shared(float32[CUT.bk, CUT.width_b], ring=CUT.stages)
    near_a: int64 @ block[1] = 1 if CUT.along_a else cs_a  # elements from a k to the next
    near_b: int64 @ block[1] = 1 if CUT.along_b else rs_b

    @requires(block[1], thread["CUT.threads"])
    def fill(step: int32 @ block[1]):
        if CUT.tensor_a and CUT.tensor_b:
            with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                tma_load(sa, A[step, i0])
                tma_load(sb, B[step, j0])
        elif CUT.tensor_a:
            with claim(a, loader) as sa, one(thread):
                tma_load(sa, A[step, i0])
        else:
            with claim(a, helpers) as sa:
                if CUT.dense_a:
                    copy_dense(A, near_a, i0, step, m, k, sa, EACH=CUT.each_a)
                else:
                    copy(A, rs_a, near_a, i0, step, m, k, sa, ALONG=CUT.along_a, UNROLL=CUT.unroll)
        if CUT.tensor_b and not CUT.tensor_a:
            with claim(b, loader) as sb, one(thread):
                tma_load(sb, B[step, j0])
        if not CUT.tensor_b:
            with claim(b, helpers) as sb:
                if CUT.dense_b:
                    copy_dense(B, near_b, j0, step, n, k, sb, EACH=CUT.each_b)
                else:
                    copy(B, cs_b, near_b, j0, step, n, k, sb, ALONG=CUT.along_b, UNROLL=CUT.unroll)

    @requires(warp["CUT.warps"])
    def use(
        of_a: shared(float32[CUT.bk, CUT.width_a]) @ warp[CUT.warps],
        of_b: shared(float32[CUT.bk, CUT.width_b]) @ warp[CUT.warps], step: int32 @ warp[CUT.warps],
    ):
        with group(thread[1]):
            multiply(of_a, of_b, row, col, min(k - step, CUT.bk), sums, DOWN=CUT.down)

    grid.pipeline(a, b, math, start, stop, THREADS=CUT.threads, STEP=CUT.bk, FILL=fill, USE=use)


@prism.device
@template(ALONG=constexpr(bool), BK=constexpr(int), WIDTH=constexpr(int), UNROLL=constexpr(int))
@requires(warpgroup[1])
def copy(
    x: ptr(const(float32)) @ grid[1], apart: int64 @ grid[1], near: int64 @ block[1], first: int32 @ block[1],
    step: int32 @ block[1], end: int32 @ grid[1], k: int32 @ grid[1], tile: shared(float32[BK, WIDTH]) @ warpgroup[1],
):
    """`tile[q, v] = x[(first + v) * apart + (step + q) * near]`, and 0 from k on, by asynchronous copies of an element.

    Perspective: a warpgroup; adjacent threads copy what is adjacent in k where `ALONG`, else across it.
    Shapes:      `tile`: `BK` by a multiple of 32, or 16, and `PAD` that nobody reads. Beyond `end`, the last of `x` comes again.
    """
    WIDE: constexpr(int) = WIDTH - PAD
    SIDE: constexpr(int) = (
        16 if ALONG else WIDE if 128 % WIDE == 0 else 128 if WIDE % 128 == 0 else 32
    )  # elements of a tile across k
    DOWN: constexpr(int) = 128 // SIDE  # and in k, that 128 threads copy at a time
    t: int32 @ thread[1] = id()
    below: int32 @ thread[1] = t % 8 if ALONG else t // SIDE
    right: int32 @ thread[1] = t // 8 if ALONG else t % SIDE
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


@prism.device
@template(EACH=constexpr(int), BK=constexpr(int), WIDTH=constexpr(int))
@requires(warpgroup[1])
def copy_dense(
    x: ptr(const(float32)) @ grid[1], near: int64 @ block[1], first: int32 @ block[1], step: int32 @ block[1],
    end: int32 @ grid[1], k: int32 @ grid[1], tile: shared(float32[BK, WIDTH]) @ warpgroup[1],
):
    """`tile[q, v] = x[first + v + (step + q) * near]`, and 0 from k and from `end` on, by asynchronous copies of `EACH` elements.

    Perspective: a warpgroup; a warp copies rows of the tile, at addresses that differ by constants: one is computed for each row.
    Shapes:      `tile`: `BK` by a multiple of 32, or 16, and `PAD` that nobody reads. Where `EACH` is 2, `end` and all places in
                 `x` are even.
    """
    WIDE: constexpr(int) = WIDTH - PAD
    LANES: constexpr(int) = 32 if WIDE // EACH % 32 == 0 else 16 if WIDE // EACH % 16 == 0 else 8
    SIDE: constexpr(int) = EACH * LANES  # elements of a row that are copied at a time
    DOWN: constexpr(int) = 128 // LANES  # and rows
    t: int32 @ thread[1] = id()
    below: int32 @ thread[1] = t // LANES
    right: int32 @ thread[1] = t % LANES * EACH
    with partition(tile, thread[1], lambda q, v: (below + q, right + v)) as my, async_(my) as to, group(thread[1]):
        at: int64 = first + right + (step + below) * near
        if step + BK <= k and WIDE <= end - first:
            for s in range(0, BK, DOWN, unroll=2):
                for r in range(0, WIDE, SIDE, unroll=True):
                    cp_async(to[s, r], x[at + r], 4 * EACH)
                at += DOWN * near
        else:
            for s in range(0, BK, DOWN, unroll=1):
                for r in range(0, WIDE, SIDE, unroll=True):
                    there: bool = s < k - step - below and right + r < end - first
                    cp_async(to[s, r], x[at + r], 4 * EACH, 4 * EACH if there else 0)
                at += DOWN * near
