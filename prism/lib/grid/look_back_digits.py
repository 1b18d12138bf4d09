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


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int), EACH=constexpr(int), FAN=constexpr(int))
def look_back_together(
    words: ptr(mailbox(T)) @ grid[1], more: int64 @ block[1], together: int32 @ block[1], tile: int32 @ block[1],
    numbers: uint32[EACH] @ thread[1], epoch: uint32 @ thread[1], sums: T[EACH] @ thread[1],
):
    """As `grid.look_back_more_digits`, of the first `together` tiles, which that many blocks have at about the same time.

    There no tile before has published a sum yet, and to go back one by one would take as many round trips as there are tiles.
    So a block adds up `FAN` tiles with its own, and publishes that; then `FAN` of these sums, and so on.

    Perspective: block, of `THREADS` threads; as of `grid.look_back_more_digits`.
    Shapes:      `words`, `numbers`: as of `grid.look_back_more_digits`. From `words[more]` on there are
                 `grid.rows_together(together)` rows of `together * EACH * THREADS` words more.
    Cost:        a round trip for each digit of a thread, and each power of `FAN` below `together`, with `FAN - 1` words each.
    Errors:      as of `grid.look_back_digits`.
    Source:      Hillis and Steele, "Data parallel algorithms", with more than two numbers a step.
    Test:        tests/lib/grid/test_look_back_together.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    ALL: constexpr(int) = 1 << 8 * T.bytes - 1
    DIGITS: constexpr(int) = EACH * THREADS
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for k in range(EACH):
            sums[k] = 0
        done: uint32 = (1 << EACH) - 1 if tile == 0 else 0  # digits whose sum has all tiles before, as bits
        span: int32 = 1  # so many tiles the other sums have, with this tile
        row: int64 = 0
        while span < together:
            many: int32 = min(FAN - 1, tile // span)
            for k in range(EACH):
                got: T[FAN - 1]
                receive(words[row + int64(max(tile - span, 0)) * DIGITS + (k * THREADS + t)], got, -span * DIGITS, many, 0, epoch)
                for j in range(FAN - 1):
                    if done >> k & 1 == 0:
                        sums[k] = sums[k] + (got[j] & T(ALL - 1))
                        done = done | uint32(1 if got[j] >= T(ALL) else 0) << k
            row = more + (row - more + int64(together) * DIGITS if span > 1 else 0)
            span = span * FAN
            if span < together:
                for k in range(EACH):
                    word: T = (sums[k] + T(numbers[k])) | (T(ALL) if done >> k & 1 != 0 else T(0))
                    publish(words[row + int64(tile) * DIGITS + (k * THREADS + t)], word, epoch)
        if tile > 0:
            for k in range(EACH):
                publish(words[int64(tile) * DIGITS + (k * THREADS + t)], (sums[k] + T(numbers[k])) | T(ALL), epoch)


@prism.device
@requires(thread[1])
@template(FAN=constexpr(int))
def rows_together(together: int32 @ thread[1]) -> int32 @ thread[1]:
    """How many rows of words `grid.look_back_together` takes besides: the powers of `FAN` below `together`, without 1.

    Perspective: thread.
    Cost:        a loop of as many trips.
    Test:        tests/lib/grid/test_look_back_together.py
    """
    rows: int32 = 0
    span: int32 = FAN
    while span < together:
        span = span * FAN
        rows = rows + 1
    return rows
