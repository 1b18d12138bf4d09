"""Matrix multiplication in float32 by Hopper's ordinary cores: a ring of tiles that one warp copies in, and an order of sums.

A quarter of a multiprocessor starts one warp's multiply-add a clock, if the registers that it reads are there. They lie in two
banks, the even and the odd ones, and a bank gives one a clock; but an operand that the instruction just before had in the same
place is kept. So along a row of a thread's sums `a` is kept, and a sum and its `b` come from the two banks; the next row goes
back, and keeps `b`. The assembler chooses registers so that this works where it finds the instructions in that order, and
`keep_order()` has it so. docs/sgemm.md has what that gives.
"""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, float4, float4_cast, float32, grid, group, id, int32,
    int64, keep_order, one, partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared, template,
    thread, tma_load, warp, warpgroup,
)


@prism("global")
@template(
    TRANSPOSE_A=constexpr(bool), A_ROWS=constexpr(int), A_COLUMNS=constexpr(int), SPAN=constexpr(int),
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int), COLUMNS=constexpr(int),
    UNROLL=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int), WORKER_REGISTERS=constexpr(int),
    HELPER_REGISTERS=constexpr(int), WIDE=constexpr(bool), BETA=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def ring(
    map_a: const(CUtensorMap(float32, A_ROWS, A_COLUMNS, swizzle=SPAN)) @ grid[1],
    map_b: const(CUtensorMap(float32, BK, BN)) @ grid[1],
    out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
    length: int32 @ grid[1], tall: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """`out = alpha * A @ B + beta * out`, or the parts that `combine` adds up to it.

    Perspective: grid, of any number of blocks of `BM / 32 * BN / (8 * COLUMNS)` warps that multiply (a multiple of 4), and 4.
    Shapes:      `map_a`: m x k, or k x m where `TRANSPOSE_A`; `map_b`: k x n; `out`: m x n, its rows `stride` elements apart,
                 all at multiples of 16 bytes, and n a multiple of 4, where `WIDE`. `length`, a multiple of `BK`, is how much
                 of k is added up at a time: where it is less than k, part p of the result is at row p * m. m, n, k, `tall`
                 are at least 1. `BM` is a multiple of 64, `BK` 32 or 64, `COLUMNS` (of a thread; it has 8 rows) 4, 8 or 16.
    Cost:        `STAGES` tiles of `BM x BK` and of `BK x BN` in shared memory. In 4 k a thread does 32 * `COLUMNS`
                 multiply-adds, and reads 8 + `COLUMNS` vectors of 16 bytes.
    Numerics:    fused multiply-adds in float32, one after the other in k.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    ACROSS: constexpr(int) = BN / (8 * COLUMNS)  # warps
    WARPS: constexpr(int) = BM / 32 * ACROSS
    QUADS: constexpr(int) = COLUMNS / 4
    tiles_m: int32 @ grid[1] = (m + (BM - 1)) / BM
    tiles: int32 @ grid[1] = tiles_m * ((n + (BN - 1)) / BN)
    parts: int32 @ grid[1] = (k + (length - 1)) / length
    blocks: int32 @ grid[1] = count(block[1])
    first: int32 @ block[1] = id()
    with partition(out, block[1], lambda y, x: y * stride + x, races="allow") as whole, group(block[1]):
        a: shared(float32[A_ROWS, A_COLUMNS], ring=STAGES, swizzle=SPAN)
        b: shared(float32[BK, BN], ring=STAGES)
        workers, helpers = roles(warpgroup, WARPS / 4, 1)
        math, loader = roles(warp, WARPS, 1)
        if WORKER_REGISTERS > 0:
            with helpers:
                set_registers(HELPER_REGISTERS)
            with workers:
                set_registers(WORKER_REGISTERS)
        with loader, one(thread):
            prefetch_map(map_a)
            prefetch_map(map_b)
        # A warp has 32 rows and 8 * COLUMNS columns; lanes 4 down, 8 across. Pairs of lanes read the same, in both directions.
        lane: int32 @ thread[1] = id() % 32
        w: int32 @ warp[1] = id()
        band: int32 @ warp[1] = w / ACROSS
        down: int32 @ thread[1] = lane / 2 % 4
        row: int32 @ thread[1] = band * 32 + 4 * down if TRANSPOSE_A else band / 2 * 64 + band % 2 * 4 + down
        col: int32 @ thread[1] = w % ACROSS * (8 * COLUMNS) + (lane / 8 * 2 + lane % 2) * 4
        sums: float32[8, COLUMNS] @ thread[1]
        for unit in range(first, tiles * parts, blocks):
            # Down `tall` tiles before right: those under way at a time then share rows and columns, in the L2.
            tile: int32 @ block[1] = unit % tiles
            start: int32 @ block[1] = unit / tiles * length
            above: int32 @ block[1] = tile / (tall * (tiles / tiles_m)) * tall
            within: int32 @ block[1] = tile % (tall * (tiles / tiles_m))
            height: int32 @ block[1] = min(tiles_m - above, tall)
            i0: int32 @ block[1] = (above + within % height) * BM
            j0: int32 @ block[1] = within / height * BN
            with math, group(thread[1]):
                for i in range(8):
                    for j in range(COLUMNS):
                        sums[i, j] = 0.0
            for step in range(start, min(start + length, k), BK):
                with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                    tma_load(sa, map_a[step if TRANSPOSE_A else i0, i0 if TRANSPOSE_A else step])
                    tma_load(sb, map_b[step, j0])
                with claim(a, math) as sa, claim(b, math) as sb, group(thread[1]):
                    # A vector of `a` has 4 rows where it lies transposed, else 4 k; one of `b` 4 columns. The next k is at hand.
                    av: float4[8]
                    bv: float4[8]
                    for i in range(2 if TRANSPOSE_A else 8):
                        av[i] = float4_cast(sa[0, row + 16 * i] if TRANSPOSE_A else sa[row + 8 * i, 0])
                    for q in range(QUADS):
                        bv[q] = float4_cast(sb[0, col + 32 * q])
                    for kk in range(0, BK, 4, unroll=UNROLL):
                        for u in range(4):
                            after: int32 = kk + u + 1 & BK - 1  # the next k; after the last one any, for nothing
                            for i in range(8):
                                for j in range(COLUMNS):
                                    # Right, left, right; the bank of `a` is that of u, and so is that of `b` where rows end.
                                    e: int32 = j if i % 2 == 0 else COLUMNS - 1 - j
                                    x: int32 = e ^ 1 if e < 2 and u % 2 == 1 or e > COLUMNS - 3 and u % 2 == 0 else e
                                    y: float32 = av[u % 2 * 2 + i / 4][i % 4] if TRANSPOSE_A else av[i][u]
                                    sums[i, x] += y * bv[u % 2 * 4 + x / 4][x % 4]
                                # Vectors of the next k, a few rows apart; one of `a` that holds 4 k as soon as its row is done.
                                for q in range(QUADS):
                                    if 4 * q / QUADS / 2 * 2 == i:
                                        bv[(u + 1) % 2 * 4 + q] = float4_cast(sb[after, col + 32 * q])
                                if TRANSPOSE_A and i % 4 == 1:
                                    av[(u + 1) % 2 * 2 + i / 4] = float4_cast(sa[after, row + 16 * (i / 4)])
                                if not TRANSPOSE_A and u == 3:
                                    av[i] = float4_cast(sa[row + 8 * i, after])
                                keep_order()
            with claim(whole, math) as target:
                below: int32 @ thread[1] = unit / tiles * m
                with partition(target, thread[1], lambda y, x: (below + y, x), races="allow") as mine, group(thread[1]):
                    for i in range(8):
                        y: int32 = i0 + row + (i / 4 * 16 + i % 4 if TRANSPOSE_A else 8 * i)
                        for q in range(QUADS):
                            x: int32 = j0 + col + 32 * q
                            if WIDE:
                                if y < m and x < n:
                                    word: float4
                                    if BETA:
                                        word = float4_cast(mine[y, x])
                                    for v in range(4):
                                        word[v] = alpha * sums[i, 4 * q + v] + (beta * word[v] if BETA else 0.0)
                                    float4_cast[mine[y, x]] = word
                            else:
                                for v in range(4):
                                    if y < m and x + v < n:
                                        value: float32 = alpha * sums[i, 4 * q + v]
                                        if BETA:
                                            value += beta * mine[y, x + v]
                                        mine[y, x + v] = value


@prism("global")
@template(WIDE=constexpr(bool), BETA=constexpr(bool))
@requires(grid[1], thread[32])
def combine(
    parts: ptr(const(float32)) @ grid[1], number: int32 @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1],
    m: int32 @ grid[1], n: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """`out = alpha * (the sum of the parts) + beta * out`: what is to be done where `ring` adds up less than k at a time.

    Perspective: grid, at least as many threads as there are elements, or fours of them where `WIDE`.
    Shapes:      `parts`: number x m x n, dense; `out`: m x n, its rows `stride` elements apart, all at multiples of 16 bytes,
                 and n a multiple of 4, where `WIDE`.
    Cost:        one pass over the parts.
    Numerics:    parts are added in float32, in their order.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    EACH: constexpr(int) = 4 if WIDE else 1
    across: int32 @ grid[1] = n / EACH
    i: int32 @ thread[1] = id()
    y: int32 @ thread[1] = i / across
    x: int32 @ thread[1] = i % across * EACH
    with partition(out, thread[1], lambda e: y * stride + x + e, races="allow") as mine, group(thread[1]):
        if y < m:
            sums: float32[EACH]
            for e in range(EACH):
                sums[e] = 0.0
            for p in range(number):
                at: int64 = (int64(p) * m + y) * n + x
                if WIDE:
                    part: float4 = float4_cast(parts[at])
                    for e in range(EACH):
                        sums[e] += part[e]
                else:
                    sums[0] += parts[at]
            for e in range(EACH):
                sums[e] = alpha * sums[e] + (beta * mine[e] if BETA else 0.0)
            for e in range(EACH):
                mine[e] = sums[e]
