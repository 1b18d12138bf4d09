"""What the sixth variant's kernels share: the multiply-adds, in an order that keeps operands, where tiles are, and stores.

A quarter of a multiprocessor starts one warp's multiply-add a clock, if the registers that it reads are there. They lie in two
banks, the even and the odd ones, and a bank gives one a clock; but an operand that the instruction just before had in the same
place is kept. So along a row of a thread's sums `a` is kept, and a sum and its `b` come from the two banks; the next row goes
back, and keeps `b`. The assembler chooses registers so that this works where it finds the instructions in that order, and
`keep_order()` has it so. docs/sgemm.md has what that gives.

A warp has 32 rows and 8 * COLUMNS columns of the result, lanes 4 down, 8 across, a thread 8 rows and COLUMNS columns. Of a result
of few rows lanes are 2 down, 16 across.
"""

from __future__ import annotations

from prism.kernels.sgemm.cut import ADDERS
from prism.lang import (
    block, const, constexpr, float4, float4_cast, float32, function, grid, group, id, int2, int32, int64, keep_order, partition,
    prism, ptr, requires, shared, shuffle_xor, template, thread, uint32, warp,
)  # fmt: skip

BETWEEN = 8
"""Elements between rows of what sums are spread through: lanes above each other then write to banks of their own."""

@prism.device
@template(COLUMNS=constexpr(int))
@requires(thread[1])
def add_row(
    sums: float32[8, COLUMNS] @ thread[1], a: float32 @ thread[1], b: const(float4[8]) @ thread[1], i: int32 @ thread[1],
    u: int32 @ thread[1],
):
    """Add `a` times a row of b, of the u-th k, to the i-th row of sums: right, left, right."""
    for j in range(COLUMNS):
        x: int32 = j if i % 2 == 0 else COLUMNS - 1 - j
        sums[i, x] += a * b[u * 4 + x // 4][x % 4]


@prism.device
@template(BK=constexpr(int), A=constexpr(int), B=constexpr(int), COLUMNS=constexpr(int), DOWN=constexpr(int))
@requires(thread[1])
def multiply(
    a: const(shared(float32[BK, A])) @ thread[1], b: const(shared(float32[BK, B])) @ thread[1], row: int32 @ thread[1],
    col: int32 @ thread[1], depth: int32 @ thread[1], sums: float32[8, COLUMNS] @ thread[1],
):
    """Add the products of a step: `sums[i, j] += a[k, y] * b[k, x]` for each k, y and x the thread's rows and columns.

    Of the last step of K only the first `depth` k are there, to whole eights.

    Rows are four from `row` on, and four 4 * DOWN further; columns four from `col` on, and of each 128 / DOWN further.
    """
    av: float4[4]
    bv: float4[8]
    for i in range(2):
        av[i] = float4_cast(a[0, row + 4 * DOWN * i])
    for q in range(COLUMNS // 4):
        bv[q] = float4_cast(b[0, col + 128 // DOWN * q])
    for first in range(0, depth, 8):
        for k in range(0, 8, 2, unroll=True):
            for u in range(2):
                after: int32 = first + k + u + 1 & BK - 1  # the next k; after the last one any, for nothing
                for i in range(8):
                    add_row(sums, av[2 * u + i // 4][i % 4], bv, i, u, COLUMNS=COLUMNS)
                    for q in range(COLUMNS // 4):  # a few rows apart
                        if 16 * q // COLUMNS // 2 * 2 == i:
                            bv[4 * (1 - u) + q] = float4_cast(b[after, col + 128 // DOWN * q])
                    if i % 4 == 3:
                        av[2 * (1 - u) + i // 4] = float4_cast(a[after, row + 4 * DOWN * (i // 4)])
                    keep_order()


@prism.device
@template(COLUMNS=constexpr(int), DOWN=constexpr(int))
@requires(warp[1])
def turn(sums: float32[8, COLUMNS] @ thread[1]):
    """Exchange sums of a warp's lanes, so that lanes side by side have columns side by side, as `store` wants them unless `WIDE`.

    Of each 32 columns of a row four lanes, those at `2 * DOWN` from each other, have four and skip four; each gives one to each.
    """
    h: int32 @ thread[1] = id() % 32 // (2 * DOWN) % 4
    for i in range(8, unroll=True):
        for q in range(0, COLUMNS, 4, unroll=True):
            for bit in range(2, unroll=True):
                for e in range(2, unroll=True):
                    low: int32 = 2 * e if bit == 0 else e  # with the one that is 1 << bit after it
                    upper: bool @ thread[1] = (h >> bit) % 2 == 1
                    given: float32 @ thread[1] = sums[i, q + low] if upper else sums[i, q + low + (1 << bit)]
                    taken: float32 @ thread[1] = shuffle_xor(given, 2 * DOWN << bit)
                    with group(thread[1]):
                        if upper:
                            sums[i, q + low] = taken
                        else:
                            sums[i, q + low + (1 << bit)] = taken


@prism.device
@template(ROWS=constexpr(int), COLUMNS=constexpr(int), DOWN=constexpr(int))
@requires(warp[1])
def spread(room: shared(float32[ROWS, 32 // DOWN * COLUMNS + BETWEEN]) @ warp[1], sums: float32[8, COLUMNS] @ thread[1]):
    """Exchange sums of a warp's lanes through `room`, so that a row's 32 side by side are one of each lane's.

    Lanes have `DOWN` rows at a time, four from each other: all of them are in `room`. Of four sums side by side `4 // DOWN` are
    then of each of these rows, 32 columns from each other.
    """
    lane: int32 @ thread[1] = id() % 32
    down: int32 @ thread[1] = lane // 2 % DOWN
    across: int32 @ thread[1] = (lane // (2 * DOWN) * 2 + lane % 2) * 4
    for i in range(8, unroll=True):
        with partition(room, thread[1], lambda x: (down, across + x)) as own, group(thread[1]):
            for q in range(COLUMNS // 4, unroll=True):
                word: float4
                for v in range(4):
                    word[v] = sums[i, 4 * q + v]
                float4_cast[own[128 // DOWN * q]] = word
        with group(thread[1]):
            for q in range(COLUMNS // 4, unroll=True):
                for v in range(4):
                    sums[i, 4 * q + v] = room[v // (4 // DOWN), 128 // DOWN * q + v % (4 // DOWN) * 32 + lane]


@prism.device
@template(COLUMNS=constexpr(int), DOWN=constexpr(int), BETA=constexpr(bool))
@requires(thread[1])
def store_spread(
    out: ptr(float32) @ thread[1], stride: int64 @ grid[1], sums: float32[8, COLUMNS] @ thread[1], top: int32 @ thread[1],
    left: int32 @ thread[1], bottom: int32 @ thread[1], right: int32 @ thread[1], alpha: float32 @ grid[1],
    beta: float32 @ grid[1],
):
    """As `store`, of sums that were `spread`: `top` is the warp's first row, `left` the lane's column of its first 32."""
    if top + 8 * DOWN <= bottom and left + 32 // DOWN * COLUMNS <= right:
        store_rows(out, stride, sums, top, left, bottom, right, alpha, beta, DOWN=DOWN, WHOLE=True, BETA=BETA)
    else:
        store_rows(out, stride, sums, top, left, bottom, right, alpha, beta, DOWN=DOWN, WHOLE=False, BETA=BETA)


@prism.device
@template(COLUMNS=constexpr(int), DOWN=constexpr(int), WHOLE=constexpr(bool), BETA=constexpr(bool))
@requires(thread[1])
def store_rows(
    out: ptr(float32) @ thread[1], stride: int64 @ grid[1], sums: float32[8, COLUMNS] @ thread[1], top: int32 @ thread[1],
    left: int32 @ thread[1], bottom: int32 @ thread[1], right: int32 @ thread[1], alpha: float32 @ grid[1],
    beta: float32 @ grid[1],
):
    """As `store_spread`, row by row; where `WHOLE` all of them are there."""
    EACH: constexpr(int) = 4 // DOWN  # of four sums, so many are of a row
    at: int64 = top * stride + left
    for r in range(8 * DOWN, unroll=True):
        for q in range(COLUMNS // DOWN, unroll=True):
            if WHOLE or (top + r < bottom and left + 32 * q < right):
                value: float32 = alpha * sums[r % 4 + r // (4 * DOWN) * 4, q // EACH * 4 + r // 4 % DOWN * EACH + q % EACH]
                if BETA:
                    value += beta * out[at + 32 * q]
                out[at + 32 * q] = value
        at += stride


@prism.device
@template(COLUMNS=constexpr(int), DOWN=constexpr(int), WIDE=constexpr(bool), BETA=constexpr(bool))
@requires(thread[1])
def store(
    out: ptr(float32) @ thread[1], stride: int64 @ grid[1], sums: float32[8, COLUMNS] @ thread[1], top: int32 @ thread[1],
    left: int32 @ thread[1], bottom: int32 @ thread[1], right: int32 @ thread[1], alpha: float32 @ grid[1],
    beta: float32 @ grid[1],
):
    """`out = alpha * sums + beta * out`, above `bottom`, left of `right`, of the thread's elements, the first at `top`, `left`.

    Of its rows four lie side by side, and four 4 * DOWN further down. Of each 128 / DOWN columns it has four. Where `WIDE`, rows
    begin at multiples of 16 bytes, and `right` is a multiple of 4. Else sums are turned, and `left` is the first of these.
    """
    for i in range(8):
        y: int32 = top + i // 4 * (4 * DOWN) + i % 4
        for q in range(COLUMNS // 4):
            x: int32 = left + 128 // DOWN * q
            if WIDE:
                if y < bottom and x < right:
                    word: float4
                    if BETA:
                        word = float4_cast(out[y * stride + x])
                    for v in range(4):
                        word[v] = alpha * sums[i, 4 * q + v] + (beta * word[v] if BETA else 0.0)
                    float4_cast[out[y * stride + x]] = word
            else:
                for v in range(4):
                    if y < bottom and x + 8 * v < right:
                        value: float32 = alpha * sums[i, 4 * q + v]
                        if BETA:
                            value += beta * out[y * stride + x + 8 * v]
                        out[y * stride + x + 8 * v] = value


@prism.device
@requires(block[1])
def place(
    tile: int32 @ block[1], group_m: int32 @ grid[1], tiles_m: int32 @ block[1], tiles_n: int32 @ block[1],
) -> int2 @ block[1]:
    """Return the row and the column, among tiles, of the one that is done as the `tile`-th.

    Down `group_m` tiles before right: those under way at a time then share rows and columns, in the L2.
    """
    strip: int32 @ block[1] = uint32(tile) // uint32(group_m * tiles_n)  # without signs, a division is half as long
    within: int32 @ block[1] = tile - strip * group_m * tiles_n
    height: int32 @ block[1] = min(tiles_m - strip * group_m, group_m)
    right: int32 @ block[1] = uint32(within) // uint32(height)
    found: int2 @ block[1]
    found[0] = strip * group_m + within - right * height
    found[1] = right
    return found


@prism.kernel
@template(
    BM=constexpr(int), BN=constexpr(int), VECTORS=constexpr(int), SPLIT=constexpr(int), WIDE=constexpr(bool), BETA=constexpr(bool)
)  # fmt: skip
@requires(grid[1], block[1], thread[ADDERS])
def combine(
    parts: ptr(const(float32)) @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], tile: int32 @ grid[1], steps: int32 @ grid[1], share: int32 @ grid[1], group_m: int32 @ grid[1],
    alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """`out = alpha * (the sum of its parts) + beta * out`, of the tiles from `tile` on: what is to be done after `ring` in parts.

    Perspective: grid, of `SPLIT * BM * BN / (VECTORS * 1024)` blocks for each tile.
    Shapes:      `parts`: as `ring` leaves them, tiles of BM x BN, at a multiple of 16 bytes; `out`: m x n, its rows `stride`
                 elements apart, all at multiples of 16 bytes, and n a multiple of 4, where `WIDE`. A tile has `steps`, of which
                 a block of `ring` did `share`. A thread has `VECTORS` times 4 elements, of every `SPLIT`-th part: 1, 2, 4 or 8.
                 `BN` divides 1024 / `SPLIT` where there are two `VECTORS`.
    Cost:        one pass over the parts; a thread loads 8 vectors of 16 bytes at a time; a barrier, where `SPLIT` is not 1.
    Numerics:    parts are added in float32: every `SPLIT`-th in the order of k, then these sums.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    p: int32 @ block[1] = id()
    with partition(out, thread[1], lambda y, x: y * stride + x, races="none") as target, group(block[1]):

        @requires(thread[1])
        def store_word(word: float4 @ thread[1], y: int32 @ thread[1], x: int32 @ thread[1]):
            if WIDE:
                old: float4
                if BETA:
                    old = float4_cast(target[y, x])
                for v in range(4):
                    old[v] = alpha * word[v] + (beta * old[v] if BETA else 0.0)
                float4_cast[target[y, x]] = old
            else:
                for v in range(4):
                    if x + v < n:
                        target[y, x + v] = alpha * word[v] + (beta * target[y, x + v] if BETA else 0.0)

        add_parts(parts, m, n, tile, steps, share, group_m, p, BM=BM, BN=BN, VECTORS=VECTORS, SPLIT=SPLIT, STORE=store_word)


@prism.device
@template(BM=constexpr(int), BN=constexpr(int), VECTORS=constexpr(int), SPLIT=constexpr(int), STORE=function)
@requires(block[1], thread[ADDERS])
def add_parts(
    parts: ptr(const(float32)) @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], tile: int32 @ grid[1], steps: int32 @ grid[1],
    share: int32 @ grid[1], group_m: int32 @ grid[1], p: int32 @ block[1],
):
    """Add up what `combine` says, of its arguments: `STORE(word, y, x)` of four elements of a row, the first at y, x.

    Perspective: block, the `p`-th.
    Test:        tests/kernels/test_sgemm_ring.py
    """
    BATCH: constexpr(int) = 8 // VECTORS  # parts at a time
    SUMS: constexpr(int) = 4 * VECTORS  # of a thread
    LANES: constexpr(int) = ADDERS // SPLIT  # threads of a block that have elements of their own
    DOWN: constexpr(int) = 4 * LANES // BN  # rows from a thread's vector to the next
    EACH: constexpr(int) = BM * BN // (SUMS * LANES)  # blocks of a tile
    tiles_m: int32 @ block[1] = (m + (BM - 1)) // BM
    tiles_n: int32 @ block[1] = (n + (BN - 1)) // BN
    behind: int32 @ block[1] = p // EACH  # of `tile`
    within: int32 @ block[1] = p % EACH
    corner: int2 @ block[1] = place(tile + behind, group_m, tiles_m, tiles_n)
    begin: int32 @ block[1] = behind * steps
    first: int32 @ block[1] = uint32(begin) // uint32(share)  # of the blocks that did some of the tile
    last: int32 @ block[1] = uint32(begin + steps - 1) // uint32(share)
    found: shared(float32[SUMS * ADDERS if SPLIT > 1 else 1])
    t: int32 @ thread[1] = id()
    own: int32 @ thread[1] = t % LANES
    e: int32 @ thread[1] = SUMS * LANES * within + 4 * own  # of the tile's elements
    row: int32 @ thread[1] = corner[0] * BM + e // BN
    col: int32 @ thread[1] = corner[1] * BN + e % BN
    sums: float32[SUMS] @ thread[1] = {0}
    with group(thread[1]):
        if row < m and col < n:
            for p in range(first + t // LANES, last + 1, BATCH * SPLIT):
                part: float4[8]
                for i in range(BATCH):
                    # Of a block's two parts, the second is the beginning of a tile that is not its first.
                    q: int32 = p + i * SPLIT
                    at: int64 = 2 * q + (1 if q * share < begin else 0)
                    for x in range(VECTORS):
                        if q <= last:
                            part[VECTORS * i + x] = float4_cast(parts[at * (BM * BN) + e + 4 * LANES * x])
                for i in range(BATCH):
                    for v in range(SUMS):
                        if p + i * SPLIT <= last:
                            sums[v] += part[VECTORS * i + v // 4][v % 4]
    if SPLIT > 1:
        with partition(found, thread[1], offset=SUMS * t) as mine, group(thread[1]):
            for v in range(SUMS):
                mine[v] = sums[v]
    with group(thread[1]):
        if t < LANES and row < m and col < n:
            for other in range(1, SPLIT):
                for v in range(SUMS):
                    sums[v] += found[SUMS * (t + other * LANES) + v]
            for q in range(VECTORS):
                if row + DOWN * q < m:
                    word: float4
                    for v in range(4):
                        word[v] = sums[4 * q + v]
                    STORE(word, row + DOWN * q, col)
