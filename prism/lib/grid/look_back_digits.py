"""A block adds up how often each digit occurs in the tiles before its own; or one block in all tiles, ahead of the others."""

from prism.lang import (
    block, constexpr, count, dtype, grid, group, id, int32, int64, load_relaxed, mailbox, prism, ptr, publish, receive, requires,
    static_assert, template, thread, uint32, uint64,
)

_PATIENCE = 256
"""How often a block asks for tiles that others draw, in vain, before it draws one: some 100 us of a GPU."""


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int), DIGITS=constexpr(int), WORDS=constexpr(int))
def look_back_digits(
    words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1], number: T @ thread[1], epoch: uint32 @ thread[1],
    first: int32 @ block[1] = 0,
) -> T @ thread[1]:
    """How often digit `t` occurs in tiles `first ... tile - 1`, in thread `t`; the sum with this tile's own is published.

    Here blocks chain: each goes back, tile after tile, until it finds one that has published its sum. For so many numbers a
    tile that costs less than to add up all that the tiles since the block's last one have, as `grid.look_back` does.

    Perspective: block, of `THREADS` threads, at least `DIGITS`; further ones get 0.
    Shapes:      `words`, `number`, `first`: as of `grid.publish_digits`, which the block has called for this tile.
    Cost:        a round trip for each `WORDS` tiles, which are under way at once, up to the nearest sum, and one store a
                 thread; no barrier.
    Errors:      tiles before must be published by blocks that do not wait for this one before: as of `grid.look_back`.
    Source:      Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs".
    Test:        tests/lib/grid/test_look_back_digits.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(THREADS >= DIGITS, "a block has a thread for each digit")
    ALL: constexpr(int) = 1 << 8 * T.bytes - 1
    t: int32 @ thread[1] = id()
    sum: T @ thread[1] = 0
    with group(thread[1]):
        if t < DIGITS:
            left: int32 = tile - first  # how many tiles there are before those in `sum`
            while left > 0:
                got: T[WORDS]
                # Words below a sum have come before it: none is waited for that isn't needed.
                receive(words[int64(first + left - 1) * DIGITS + t], got, -DIGITS, left, 0, epoch)
                for k in range(WORDS):
                    if left > 0:
                        sum = sum + (got[k] & T(ALL - 1))
                        left = 0 if got[k] >= T(ALL) else left - 1
            if tile > first:
                publish(words[int64(tile) * DIGITS + t], (sum + number) | T(ALL), epoch)
    return sum


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int), DIGITS=constexpr(int), WORDS=constexpr(int))
def sum_digits(
    words: ptr(mailbox(T)) @ grid[1], control: ptr(uint64) @ grid[1], tiles: int32 @ block[1], epoch: uint32 @ thread[1],
):
    """Publish the sums of all tiles, for a block that has drawn none: `grid.look_back_digits` finds them sooner than by itself.

    It takes what `grid.publish_digits` has published, tile after tile. Nobody waits for this block: who comes to a tile before
    it adds up as if there were none. Nor does it wait for blocks that do not run: where no tile is drawn for some time it ends,
    and then the block draws tiles as all others do.

    Perspective: block, of `THREADS` threads, at least `DIGITS`.
    Shapes:      `words`, `epoch`: as of `grid.publish_digits`. `control`: as of `grid.tiles`. Tiles are `0 ... tiles - 1`; the
                 sum begins anew at each one that was published as its own `first`.
    Cost:        of `WORDS` tiles a round trip, and a store a thread each; no barrier. It ends when all tiles are published.
    Errors:      who has drawn a tile must publish it, and not wait for this block before: as of `grid.look_back`.
    Test:        tests/lib/grid/test_look_back_digits.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(THREADS >= DIGITS, "a block has a thread for each digit")
    ALL: constexpr(int) = 1 << 8 * T.bytes - 1
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        if t < DIGITS:
            sum: T = 0
            begin: int32 = 0  # tiles below are in it
            known: int32 = 0  # so many tiles have been drawn, or more
            asked: int32 = 0  # how often in vain
            while begin < tiles and asked < _PATIENCE:
                if known < min(begin + WORDS, tiles):
                    known = min(int32(load_relaxed(control[0])), tiles)
                asked = asked + 1 if begin == known else 0
                got: T[WORDS]
                receive(words[int64(begin) * DIGITS + t], got, DIGITS, known - begin, 0, epoch)
                for k in range(WORDS):
                    if begin + k < known:
                        sum = (0 if got[k] >= T(ALL) else sum) + (got[k] & T(ALL - 1))
                        publish(words[int64(begin + k) * DIGITS + t], sum | T(ALL), epoch)
                begin = min(begin + WORDS, known)
