"""Which block has which tiles, of sequences of different lengths; what is loaded of them, cleared, and scaled."""

from __future__ import annotations

from prism.kernels.attention.decode_cut import Sizes, Steps
from prism.kernels.attention.softmax import LEAST
from prism.lang import (
    CUtensorMap, async_, block, const, constexpr, count, cp_async, dtype, float32, fragment, function, grid, group, id, int32,
    int64, load_vector, one, partition, prism, ptr, requires, row, shared, store_vector, template, thread, tma_load, vector, warp,
    warpgroup,
)  # fmt: skip
from prism.lib.thread import operators


@prism("device")
@template(KEYS=constexpr(int))
@requires(thread[1])
def tiles_of(length: int32 @ thread[1], most: int32 @ thread[1]) -> int32 @ thread[1]:
    """How many tiles of `KEYS` keys a sequence has: one at least, also of no keys, as its rows are written all the same."""
    return max(1, (max(0, min(length, most)) + (KEYS - 1)) / KEYS)


@prism("device")
@template(KEYS=constexpr(int), THREADS=constexpr(int))
@requires(block[1], thread[THREADS])
def count_tiles(
    lengths: ptr(const(int32)) @ grid[1], batches: int32 @ grid[1], most: int32 @ grid[1],
    starts: shared(int32[64]) @ block[1],
) -> int32 @ block[1]:
    """How many tiles all sequences have, for one head; `starts`: how many those have that are before each of 64 runs of them.

    Perspective: block.
    Test:        tests/kernels/test_attention_decode.py
    """
    t: int32 @ thread[1] = id()
    FEW: constexpr(int) = THREADS // 64
    run: int32 @ block[1] = (batches + (THREADS - 1)) / THREADS
    before: int32[1] @ thread[1] = {0}
    with group(thread[1]):
        for i in range(t * run, min(batches, (t + 1) * run)):
            before[0] += tiles_of(lengths[i], most, KEYS=KEYS)
    total: int32 @ block[1] = block.scan(before, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
    with partition(starts, thread[1], t / FEW) as own, group(thread[1]):
        if t % FEW == 0:
            own[0] = before[0]
    return total


@prism("device")
@template(KEYS=constexpr(int), THREADS=constexpr(int))
@requires(block[1], thread[THREADS])
def find_piece(
    lengths: ptr(const(int32)) @ grid[1], batches: int32 @ grid[1], most: int32 @ grid[1],
    starts: const(shared(int32[64])) @ block[1], heads: int32 @ block[1], tile: int32 @ block[1],
) -> (int32, int32) @ block[1]:
    """The sequence and head that has a tile, as `sequence * heads + head`, and where its tiles begin.

    Perspective: block; no barrier. `starts`: as of `count_tiles`.
    Test:        tests/kernels/test_attention_decode.py
    """
    run: int32 @ block[1] = (batches + (THREADS - 1)) / THREADS * (THREADS / 64)
    at: int32 @ block[1] = 0
    step: int32 @ block[1] = 32
    while step > 0:
        if starts[at + step] * heads <= tile:
            at += step
        step = step / 2
    start: int32 @ block[1] = starts[at] * heads
    at = at * run
    tiles: int32 @ block[1] = tiles_of(lengths[at], most, KEYS=KEYS)
    while start + tiles * heads <= tile:
        start += tiles * heads
        at += 1
        tiles = tiles_of(lengths[at], most, KEYS=KEYS)
    head: int32 @ block[1] = (tile - start) / tiles
    return at * heads + head, start + head * tiles


@prism("device")
@requires(thread[1])
def block_of(tile: int32 @ thread[1], tiles: int32 @ thread[1], blocks: int32 @ thread[1]) -> int32 @ thread[1]:
    """The block that has a tile."""
    return int32((int64(tile + 1) * blocks - 1) / tiles)


@prism("device")
@template(PIECE=function, THREADS=constexpr(int), KEYS=constexpr(int), LENGTHS=constexpr(bool))
@requires(block[1], thread[THREADS])
def deal(
    b: int32 @ block[1], blocks: int32 @ grid[1], lengths: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):
    """`PIECE(piece, length, first, last, leader, parts)` for what the block has of each head's keys.

    Tiles of keys are numbered through all sequences and heads, and each block has as many that follow one another. Of `piece`, 64
    queries of a head, it has tiles `first` to `last` of `length` keys; `parts` blocks from `leader` on have some.

    Perspective: block `b` of `blocks`.
    Test:        tests/kernels/test_attention_decode.py
    """
    starts: shared(int32[64])
    heads: int32 @ block[1] = s.heads * s.strips  # strips of queries, of which each reads its head's keys
    each: int32 @ block[1] = max(1, (s.keys + (KEYS - 1)) / KEYS)
    tiles: int32 @ block[1] = each * heads * s.batches
    if LENGTHS:
        of_a_head: int32 @ block[1] = count_tiles(lengths, s.batches, s.keys, starts, KEYS=KEYS, THREADS=THREADS)
        tiles = heads * of_a_head
    many: int32 @ block[1] = min(blocks, tiles)
    first: int32 @ block[1] = int32(int64(b) * tiles / many)
    last: int32 @ block[1] = int32(int64(b + 1) * tiles / many) if b < many else 0
    piece: int32 @ block[1] = first / each
    start: int32 @ block[1] = piece * each
    if LENGTHS and b < many:
        piece, start = find_piece(lengths, s.batches, s.keys, starts, heads, first, KEYS=KEYS, THREADS=THREADS)
    while start < last:
        length: int32 @ block[1] = max(0, min(s.keys, lengths[piece / heads])) if LENGTHS else s.keys
        n: int32 @ block[1] = max(1, (length + (KEYS - 1)) / KEYS)
        leader: int32 @ block[1] = block_of(start, tiles, many)
        parts: int32 @ block[1] = block_of(start + n - 1, tiles, many) - leader + 1
        PIECE(piece, length, max(first - start, 0), min(n, last - start), leader, parts)
        piece += 1
        start += n


@prism("device")
@template(T=dtype, KEYS=constexpr(int), DIM=constexpr(int), THREADS=constexpr(int))
@requires(thread[THREADS])
def clear_rows(tile: shared(T[KEYS, DIM], swizzle=128) @ thread[THREADS], first: int32 @ thread[THREADS]):
    """Give zeros to rows from `first` on: behind a sequence's last key may be anything, and 0 times that is not always 0.

    Perspective: `THREADS` threads.
    Test:        tests/kernels/test_attention_decode.py
    """
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], lambda e: (e / DIM, e % DIM)) as own, group(thread[1]):
        zeros: vector(T, 8)
        for e in range(8):
            zeros[e] = 0
        for e in range(8 * t, KEYS * DIM, 8 * THREADS):
            if e / DIM >= first:
                store_vector(own[e], zeros)


@prism("device")
@template(T=dtype)
@requires(thread[1])
def load_query(
    q: ptr(const(T)) @ grid[1], piece: int32 @ thread[1], r: int32 @ thread[1], c: int32 @ thread[1], s: Sizes @ grid[1],
) -> vector(T, 8) @ thread[1]:
    """Return 8 elements, from c on, of row r of a piece; zeros behind the rows and columns.

    Row n of a head of keys is head `n % shared_by`, of those that share it, of token `n / shared_by`.
    """
    batch: int32 = piece / s.strips / s.heads
    start: int64 = batch * s.q_batch + piece / s.strips % s.heads * s.shared_by * s.q_head
    n: int32 = piece % s.strips * 64 + r
    few: vector(T, 8) = vector(T, 8)(0)
    if n < s.shared_by * s.tokens and c < s.columns:
        few = load_vector(q[start + n % s.shared_by * s.q_head + n / s.shared_by * s.q_token + c], 8)
    return few


@prism("device")
@template(KEYS=constexpr(int), DIM=constexpr(int), CAUSAL=constexpr(bool))
@requires(warpgroup[1])
def begin_rows(
    scores: fragment(float32, 64, KEYS) @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    largest: float32[2] @ thread[1], total: float32[2] @ thread[1], high: int32[2] @ thread[1], length: int32 @ warpgroup[1],
    top: int32 @ warpgroup[1], s: Sizes @ grid[1],
):
    """Nothing is summed up of rows from `top` on as yet; `high`: which keys the thread's two see, of `length`.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_decode.py
    """
    with group(thread[1]):
        for h in range(2):
            token: int32 = (top + row(scores, 2 * h)) / s.shared_by
            high[h] = min(length, length - (s.tokens - 1) + token) if CAUSAL else length
            largest[h] = LEAST
            total[h] = 0
        for i in range(count(sums)):
            sums[i] = 0


@prism("device")
@template(T=dtype, KEYS=constexpr(int), DIM=constexpr(int))
@requires(warpgroup[1])
def scale_rows(
    scores: fragment(float32, 64, KEYS) @ warpgroup[1], weights: fragment(T, 64, KEYS) @ warpgroup[1],
    sums: fragment(float32, 64, DIM) @ warpgroup[1], factor: float32[2] @ thread[1],
):
    """Scale what was summed up by the last largest scores, and round the new weights, which `weigh` made of scores.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_decode.py
    """
    with group(thread[1]):
        for i in range(count(sums)):
            sums[i] *= factor[i / 2 % 2]
        for i in range(count(weights)):
            weights[i] = T(scores[i])


@prism("device")
@template(
    T=dtype, KEYS=constexpr(int), DIM=constexpr(int), BOX=constexpr(int), PAGE=constexpr(int), ONCE=constexpr(bool),
    WARPS=constexpr(int),
)  # fmt: skip
@requires(warp[WARPS])
def bring(
    tile: shared(T[KEYS, DIM], swizzle=128) @ warp[WARPS],
    x: (ptr(const(T)) if PAGE % 8 > 0 else const(CUtensorMap(T, 1, 1, BOX, DIM, swizzle=128))) @ grid[1],
    steps: Steps @ warp[WARPS], batch: int32 @ warp[WARPS], head: int32 @ warp[WARPS], first: int32 @ warp[WARPS],
    column: int32 @ warp[WARPS], length: int32 @ warp[WARPS], table: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):
    """Load a tile of a sequence's keys or values from `first` on; zeros, in place of pages from `length` on.

    Where a page has no multiple of 8 keys, row by row, since pages end anywhere. Where `ONCE`, it leaves the L2 first.

    Perspective: `WARPS` warps, of which one copies tiles.
    Test:        tests/kernels/test_attention_decode.py
    """
    if PAGE % 8 > 0:
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (e / DIM, e % DIM)) as own, async_(own) as coming, group(thread[1]):
            for e in range(8 * t, KEYS * DIM, 8 * 32 * WARPS, unroll=2):
                key: int32 = first + e / DIM
                c: int32 = column + e % DIM
                page: int32 = table[batch * s.wide + key / PAGE] if key < length else -1
                there: bool = page >= 0 and page < s.pages and c < steps.columns
                at: int64 = page * steps.page + head * steps.head + key % PAGE * steps.key + c
                cp_async(coming[e], x[at if there else 0], 16, 16 if there else 0)
    else:
        with one(thread):
            if PAGE > 0:
                numbers: int32[KEYS // BOX]
                for p in range(KEYS // BOX):  # all are asked for before one is waited for
                    at: int32 = first + p * BOX
                    numbers[p] = table[batch * s.wide + at / PAGE] if at < length else s.pages
                for p in range(KEYS // BOX):
                    at: int32 = first + p * BOX
                    tma_load(tile[p * BOX, 0], x[numbers[p], head, at % PAGE, column], cache="evict_first" if ONCE else "")
            else:
                tma_load(tile, x[batch, head, first, column], cache="evict_first" if ONCE else "")


__all__ = ["begin_rows", "block_of", "bring", "clear_rows", "deal", "load_query", "scale_rows"]
