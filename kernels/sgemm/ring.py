"""Matrix multiplication in float32 by Hopper's ordinary cores: a ring of tiles that one warp copies in, and an order of sums.

A quarter of a multiprocessor starts one warp's multiply-add a clock, if the registers that it reads are there. They lie in two
banks, the even and the odd ones, and a bank gives one a clock; but an operand that the instruction just before had in the same
place is kept. So along a row of a thread's sums `a` is kept, and a sum and its `b` come from the two banks; the next row goes
back, and keeps `b`. The assembler chooses registers so that this works where it finds the instructions in that order, and
`keep_order()` has it so. docs/sgemm.md has what that gives.
"""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, float4, float4_cast, float32, grid, group, id, int2, int32,
    int64, keep_order, one, partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared, template,
    thread, tma_load, uint32, warp, warpgroup,
)

ADDERS = 256  # threads a block of `combine`


@prism("global")
@template(
    TRANSPOSE_A=constexpr(bool), A_ROWS=constexpr(int), A_COLUMNS=constexpr(int), SPAN=constexpr(int),
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int), COLUMNS=constexpr(int),
    THREADS=constexpr(int), BLOCKS=constexpr(int), WORKER_REGISTERS=constexpr(int), HELPER_REGISTERS=constexpr(int),
    WIDE=constexpr(bool), BETA=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def ring(
    map_a: const(CUtensorMap(float32, A_ROWS, A_COLUMNS, swizzle=SPAN)) @ grid[1],
    map_b: const(CUtensorMap(float32, BK, BN)) @ grid[1],
    out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
    tile: int32 @ grid[1], end: int32 @ grid[1], share: int32 @ grid[1], tall: int32 @ grid[1], alpha: float32 @ grid[1],
    beta: float32 @ grid[1],
):
    """`out = alpha * A @ B + beta * out` of the tiles from `tile` to `end`, or the parts of them that `combine` adds up to it.

    A block has a tile's whole sum, and goes on to further tiles. Or `share` is less than a tile's steps, each of `BK` in k: then
    steps are numbered, a tile's after those of the tile before, and the p-th block does `share` of them from `p * share` on, the
    end of one tile, maybe, and the beginning of the next. What it adds up of the first is part 2 p, of the second 2 p + 1.

    Perspective: grid, of any number of blocks of `BM / 32 * BN / (8 * COLUMNS)` warps that multiply (a multiple of 4), and 4.
    Shapes:      `map_a`: m x k, or k x m where `TRANSPOSE_A`; `map_b`: k x n; `out`: m x n, its rows `stride` elements apart,
                 all at multiples of 16 bytes, and n a multiple of 4, where `WIDE`. Or it has two parts for each block, of
                 BM x BN, `stride` is BN, and there are as many blocks as shares. m, n, k, `share`, `tall` are at least 1. `BM`
                 is a multiple of 64, `BK` 32 or 64, `COLUMNS` (of a thread; it has 8 rows) 4, 8 or 16.
    Cost:        `STAGES` tiles of `BM x BK` and of `BK x BN` in shared memory. In 4 k a thread does 32 * `COLUMNS`
                 multiply-adds, and reads 8 + `COLUMNS` vectors of 16 bytes.
    Numerics:    fused multiply-adds in float32, one after the other in k.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    ACROSS: constexpr(int) = BN / (8 * COLUMNS)  # warps
    WARPS: constexpr(int) = BM / 32 * ACROSS
    QUADS: constexpr(int) = COLUMNS / 4
    tiles_m: int32 @ grid[1] = (m + (BM - 1)) / BM
    tiles_n: int32 @ grid[1] = (n + (BN - 1)) / BN
    steps: int32 @ grid[1] = (k + (BK - 1)) / BK
    blocks: int32 @ grid[1] = count(block[1])
    p: int32 @ block[1] = id()
    split: bool @ grid[1] = share < steps
    first: int32 @ block[1] = p * share if split else 0  # step
    last: int32 @ block[1] = min(first + share, (end - tile) * steps) if split else steps
    units: int32 @ block[1] = (last - 1) / steps - first / steps + 1 if split else (end - tile - p + (blocks - 1)) / blocks
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
                    for kk in range(0, BK, 4, unroll=2):
                        for u in range(4):
                            after: int32 = kk + u + 1 & BK - 1  # the next k; after the last one any, for nothing
                            for i in range(8):
                                for j in range(COLUMNS):
                                    # Right, left, right. Where `a` has 4 k, its bank is u's: so is that of `b` where rows end.
                                    e: int32 = j if i % 2 == 0 else COLUMNS - 1 - j
                                    turned: bool = e < 2 and u % 2 == 1 or e > COLUMNS - 3 and u % 2 == 0
                                    x: int32 = e ^ 1 if turned and not TRANSPOSE_A else e
                                    y: float32 = av[u % 2 * 2 + i / 4][i % 4] if TRANSPOSE_A else av[i][u]
                                    sums[i, x] += y * bv[u % 2 * 4 + x / 4][x % 4]
                                # Vectors of the next k, a few rows apart; one of `a` that holds 4 k as soon as its row is done.
                                for q in range(QUADS):
                                    if 4 * q / QUADS / 2 * 2 == i:
                                        bv[(u + 1) % 2 * 4 + q] = float4_cast(sb[after, col + 32 * q])
                                if TRANSPOSE_A and i % 4 == 3:
                                    av[(u + 1) % 2 * 2 + i / 4] = float4_cast(sa[after, row + 16 * (i / 4)])
                                if not TRANSPOSE_A and u == 3:
                                    av[i] = float4_cast(sa[row + 8 * i, after])
                                keep_order()
            with claim(whole, math) as target:
                top: int32 @ thread[1] = (2 * p + unit) * BM if split else i0
                left: int32 @ thread[1] = 0 if split else j0
                bottom: int32 @ thread[1] = top + BM if split else m
                right: int32 @ thread[1] = BN if split else n
                with partition(target, thread[1], lambda y, x: (y, x), races="allow") as mine, group(thread[1]):
                    for i in range(8):
                        y: int32 = top + row + (i / 4 * 16 + i % 4 if TRANSPOSE_A else 8 * i)
                        for q in range(QUADS):
                            x: int32 = left + col + 32 * q
                            if WIDE:
                                if y < bottom and x < right:
                                    word: float4
                                    if BETA:
                                        word = float4_cast(mine[y, x])
                                    for v in range(4):
                                        word[v] = alpha * sums[i, 4 * q + v] + (beta * word[v] if BETA else 0.0)
                                    float4_cast[mine[y, x]] = word
                            else:
                                for v in range(4):
                                    if y < bottom and x + v < right:
                                        value: float32 = alpha * sums[i, 4 * q + v]
                                        if BETA:
                                            value += beta * mine[y, x + v]
                                        mine[y, x + v] = value


@prism("device")
@requires(block[1])
def place(
    tile: int32 @ block[1], tall: int32 @ grid[1], tiles_m: int32 @ grid[1], tiles_n: int32 @ grid[1],
) -> int2 @ block[1]:
    """Return the row and the column, among tiles, of the one that is done as the `tile`-th.

    Down `tall` tiles before right: those under way at a time then share rows and columns, in the L2.
    """
    strip: int32 @ block[1] = uint32(tile) / uint32(tall * tiles_n)  # without signs, a division is half as long
    within: int32 @ block[1] = tile - strip * tall * tiles_n
    height: int32 @ block[1] = min(tiles_m - strip * tall, tall)
    right: int32 @ block[1] = uint32(within) / uint32(height)
    found: int2 @ block[1]
    found[0] = strip * tall + within - right * height
    found[1] = right
    return found


@prism("global")
@template(BM=constexpr(int), BN=constexpr(int), VECTORS=constexpr(int), WIDE=constexpr(bool), BETA=constexpr(bool))
@requires(grid[1], block[1], thread[ADDERS])
def combine(
    parts: ptr(const(float32)) @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], tile: int32 @ grid[1], steps: int32 @ grid[1], share: int32 @ grid[1], tall: int32 @ grid[1],
    alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """`out = alpha * (the sum of its parts) + beta * out`, of the tiles from `tile` on: what is to be done after `ring` in parts.

    Perspective: grid, of `BM * BN / (VECTORS * 1024)` blocks for each tile.
    Shapes:      `parts`: as `ring` leaves them, tiles of BM x BN, at a multiple of 16 bytes; `out`: m x n, its rows `stride`
                 elements apart, all at multiples of 16 bytes, and n a multiple of 4, where `WIDE`. A tile has `steps`, of which
                 a block of `ring` did `share`. `BN` divides 1024. A thread has `VECTORS` times 4 elements.
    Cost:        one pass over the parts; a thread loads 8 vectors of 16 bytes at a time.
    Numerics:    parts are added in float32, in the order of k.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    EACH: constexpr(int) = BM * BN / (VECTORS * 4 * ADDERS)  # blocks
    BATCH: constexpr(int) = 8 / VECTORS  # parts at a time
    DOWN: constexpr(int) = 4 * ADDERS / BN  # rows from a thread's vector to the next
    tiles_m: int32 @ grid[1] = (m + (BM - 1)) / BM
    tiles_n: int32 @ grid[1] = (n + (BN - 1)) / BN
    behind: int32 @ block[1] = id() / EACH  # of `tile`
    corner: int2 @ block[1] = place(tile + behind, tall, tiles_m, tiles_n)
    begin: int32 @ block[1] = behind * steps
    first: int32 @ block[1] = uint32(begin) / uint32(share)  # of the blocks that did some of the tile
    last: int32 @ block[1] = uint32(begin + steps - 1) / uint32(share)
    within: int32 @ block[1] = id() % EACH * (VECTORS * 4 * ADDERS)
    e: int32 @ thread[1] = within + 4 * (id() % ADDERS)  # of the tile's elements
    row: int32 @ thread[1] = corner[0] * BM + e / BN
    col: int32 @ thread[1] = corner[1] * BN + e % BN
    with partition(out, thread[1], lambda q, v: (row + DOWN * q) * stride + col + v, races="allow") as mine, group(thread[1]):
        if row < m and col < n:
            sums: float32[4 * VECTORS]
            for v in range(4 * VECTORS):
                sums[v] = 0.0
            for p in range(first, last + 1, BATCH):
                part: float4[8]
                for i in range(BATCH):
                    # Of a block's two parts, the second is the beginning of a tile that is not its first.
                    at: int64 = 2 * (p + i) + (1 if (p + i) * share < begin else 0)
                    for q in range(VECTORS):
                        if p + i <= last:
                            part[VECTORS * i + q] = float4_cast(parts[at * (BM * BN) + e + 4 * ADDERS * q])
                for i in range(BATCH):
                    for v in range(4 * VECTORS):
                        if p + i <= last:
                            sums[v] += part[VECTORS * i + v / 4][v % 4]
            for q in range(VECTORS):
                if row + DOWN * q < m:
                    if WIDE:
                        word: float4
                        if BETA:
                            word = float4_cast(mine[q, 0])
                        for v in range(4):
                            word[v] = alpha * sums[4 * q + v] + (beta * word[v] if BETA else 0.0)
                        float4_cast[mine[q, 0]] = word
                    else:
                        for v in range(4):
                            if col + v < n:
                                mine[q, v] = alpha * sums[4 * q + v] + (beta * mine[q, v] if BETA else 0.0)
