"""A block publishes how often each digit occurs in a tile: one or several digits a thread."""

from prism.lang import (
    block, constexpr, count, dtype, grid, group, id, int32, int64, mailbox, prism, ptr, publish, requires, static_assert,
    template, thread, uint32,
)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int), DIGITS=constexpr(int))
def publish_digits(
    words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1], number: T @ thread[1], epoch: uint32 @ thread[1],
    first: int32 @ block[1] = 0,
):
    """Publish how often each digit occurs in a tile, `number` of digit `t` in thread `t`, for `grid.look_back_digits`.

    Perspective: block, of `THREADS` threads, at least `DIGITS`; what further ones have is of no use.
    Shapes:      `words`: `DIGITS` a tile, of uint32 or uint64, all zero at first; as of `grid.publish`. Their top bit says
                 whether a word has the sum of all tiles so far, as those of tile `first` have from the start: the one that
                 the sum begins with.
    Cost:        one store a thread; no barrier.
    Errors:      as of `grid.publish`. All numbers together must be less than half of what `T` holds.
    Test:        tests/lib/grid/test_look_back_digits.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(THREADS >= DIGITS, "a block has a thread for each digit")
    ALL: constexpr(int) = 1 << 8 * T.bytes - 1
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        if t < DIGITS:
            publish(words[int64(tile) * DIGITS + t], number | (T(ALL) if tile == first else T(0)), epoch)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int), EACH=constexpr(int))
def publish_more_digits(
    words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1], numbers: uint32[EACH] @ thread[1], epoch: uint32 @ thread[1],
):
    """Publish how often each digit occurs in a tile, for `grid.look_back_more_digits`: as `grid.publish_digits`, of more digits.

    Perspective: block, of `THREADS` threads. `numbers` of thread `t` are of the digits `t`, `t + THREADS`, ..., in whatever order
                 the block counts digits.
    Shapes:      `words`: as of `grid.publish_digits`, `EACH * THREADS` a tile; sums begin with tile 0.
    Cost:        `EACH` stores a thread; no barrier.
    Errors:      as of `grid.publish_digits`.
    Test:        tests/lib/grid/test_look_back_digits.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    ALL: constexpr(int) = 1 << 8 * T.bytes - 1
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for k in range(EACH):
            publish(words[(int64(tile) * EACH + k) * THREADS + t], T(numbers[k]) | (T(ALL) if tile == 0 else T(0)), epoch)
