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


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int), EACH=constexpr(int), WORDS=constexpr(int))
def look_back_more_digits(
    words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1], numbers: uint32[EACH] @ thread[1], epoch: uint32 @ thread[1],
    sums: T[EACH] @ thread[1],
):
    """As `grid.look_back_digits`, of `EACH` digits a thread: `sums` becomes how often they occur in the tiles before this one.

    Perspective: block, of `THREADS` threads; thread `t` has the digits `t`, `t + THREADS`, ...
    Shapes:      `words`, `numbers`: as of `grid.publish_more_digits`, which the block has called for this tile.
    Cost:        a round trip for each `WORDS` tiles, of whose words all that a thread has are under way at once, up to the
                 nearest sums; no barrier.
    Errors:      as of `grid.look_back_digits`.
    Source:      as of `grid.look_back_digits`.
    Test:        tests/lib/grid/test_look_back_digits.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    ALL: constexpr(int) = 1 << 8 * T.bytes - 1
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for k in range(EACH):
            sums[k] = 0
        left: int32 = tile
        done: uint32 = 0  # digits whose sum is known, as bits
        while left > 0:
            got: T[EACH * WORDS]
            receive(words[(int64(left) * EACH - 1) * THREADS + t], got, -THREADS, left * EACH, 0, epoch)
            for j in range(WORDS):
                for k in range(EACH):
                    word: T = got[j * EACH + k]
                    if done >> (EACH - 1 - k) & 1 == 0:
                        sums[EACH - 1 - k] = sums[EACH - 1 - k] + (word & T(ALL - 1))
                        done = done | uint32(1 if word >= T(ALL) else 0) << (EACH - 1 - k)
            left = left - WORDS if done != (1 << EACH) - 1 else 0
        if tile > 0:
            for k in range(EACH):
                publish(words[(int64(tile) * EACH + k) * THREADS + t], (sums[k] + T(numbers[k])) | T(ALL), epoch)
