"""Which unit has which tiles, of sequences of different lengths; queries gathered, and what is behind a last key cleared."""

from __future__ import annotations

from prism.kernels.attention.decode_cut import Sizes
from prism.lang import (
    CUtensorMap, block, const, constexpr, dtype, grid, group, id, int32, int64, load_vector, one, partition, prism, ptr, requires,
    shared, store_vector, template, thread, tma_load, vector, warp, warpgroup,
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
    starts: const(shared(int32[64])) @ block[1], heads: int32 @ grid[1], tile: int32 @ block[1],
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
def first_of(unit: int32 @ thread[1], tiles: int32 @ thread[1], units: int32 @ thread[1]) -> int32 @ thread[1]:
    """The first tile of a unit: `units` have all `tiles`, evenly."""
    return int32(int64(unit) * tiles / units)


@prism("device")
@requires(thread[1])
def unit_of(tile: int32 @ thread[1], tiles: int32 @ thread[1], units: int32 @ thread[1]) -> int32 @ thread[1]:
    """The unit that has a tile."""
    return int32((int64(tile + 1) * units - 1) / tiles)


@prism("device")
@template(T=dtype, KEYS=constexpr(int), DIM=constexpr(int))
@requires(warpgroup[1])
def clear_rows(tile: shared(T[KEYS, DIM], swizzle=128) @ warpgroup[1], first: int32 @ warpgroup[1]):
    """Give zeros to rows from `first` on: behind a sequence's last key may be anything, and 0 times that is not always 0.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_decode.py
    """
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], lambda e: (e / DIM, e % DIM)) as own, group(thread[1]):
        zeros: vector(T, 8)
        for e in range(8):
            zeros[e] = 0
        for e in range(8 * t, KEYS * DIM, 8 * 128):
            if e / DIM >= first:
                store_vector(own[e], zeros)


@prism("device")
@template(T=dtype, DIM=constexpr(int))
@requires(warpgroup[1])
def gather_rows(
    tile: shared(T[64, DIM], swizzle=128) @ warpgroup[1], q: ptr(const(T)) @ grid[1], batch: int32 @ warpgroup[1],
    head: int32 @ warpgroup[1], s: Sizes @ grid[1],
):
    """Fill a tile with queries: row r is head `r % shared_by` of token `r / shared_by`; zeros behind the rows and columns.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_decode.py
    """
    t: int32 @ thread[1] = id()
    start: int64 @ thread[1] = batch * s.q_batch + head * s.shared_by * s.q_head
    with partition(tile, thread[1], lambda e: (e / DIM, e % DIM)) as own, group(thread[1]):
        for e in range(8 * t, 64 * DIM, 8 * 128):
            r: int32 = e / DIM
            few: vector(T, 8) = vector(T, 8)(0)
            if r < s.shared_by * s.tokens and e % DIM < s.columns:
                few = load_vector(q[start + r % s.shared_by * s.q_head + r / s.shared_by * s.q_token + e % DIM], 8)
            store_vector(own[e], few)


@prism("device")
@template(T=dtype, KEYS=constexpr(int), BOX=constexpr(int), DIM=constexpr(int), PAGE=constexpr(int))
@requires(warp[1])
def bring(
    tile: shared(T[KEYS, DIM], swizzle=128) @ warp[1], x: const(CUtensorMap(T, 1, 1, BOX, DIM, swizzle=128)) @ grid[1],
    batch: int32 @ warp[1], head: int32 @ warp[1], first: int32 @ warp[1], length: int32 @ warp[1],
    table: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):
    """Load a tile of a sequence's keys or values from `first` on; zeros, in place of pages from `length` on.

    Perspective: warp.
    Test:        tests/kernels/test_attention_decode.py
    """
    with one(thread):
        if PAGE > 0:
            for p in range(0, KEYS, BOX):
                page: int32 = table[batch * s.wide + (first + p) / PAGE] if first + p < length else s.pages
                tma_load(tile[p, 0], x[page, head, (first + p) % PAGE, 0])
        else:
            tma_load(tile, x[batch, head, first, 0])


__all__ = ["bring", "clear_rows", "count_tiles", "find_piece", "first_of", "gather_rows", "unit_of"]
