"""A block adds up how often each digit occurs in the tiles before its own."""

from prism.lang import (
    block, constexpr, count, dtype, grid, group, id, int32, int64, mailbox, prism, ptr, publish, receive, requires, static_assert,
    template, thread, uint32,
)


@prism.device
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
