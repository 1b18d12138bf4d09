"""A block combines the totals of the tiles before its own, of several columns at once."""

from prism.lang import (
    block, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox, partition, prism, ptr, receive, requires,
    shared, shuffle_down, static_assert, template, thread, uint32,
)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function, THREADS=constexpr(int), WORDS=constexpr(int), WIDTH=constexpr(int), TX=constexpr(int))
def look_back_columns(
    words: ptr(mailbox(T)) @ grid[1], start_word: int64 @ block[1], first: int32 @ block[1], last: int32 @ block[1],
    identity: T @ block[1], epoch: uint32 @ block[1], prefix: T[WIDTH] @ thread[1],
):
    """Add to `prefix`, of this thread's columns, what the tiles `first ... last - 1` came to, column by column.

    Perspective: block, of `THREADS` threads.
    Shapes:      thread `t` has the `WIDTH` columns from `t % TX * WIDTH` on; `TX * WIDTH`, a power of two, is at most 32.
                 `words`: that many a tile, from `words[start_word]` on; else as of `grid.publish`.
    Cost:        a round trip for each `THREADS / (TX * WIDTH) * WORDS` tiles, `WORDS` of a thread under way at once, and one
                 barrier; a shared element for each column of each warp.
    Numerics:    reassociates `OP`, in a way fixed by `first`, `last` and the template; `OP` need not be commutative.
    Errors:      as of `grid.look_back`.
    Test:        tests/lib/grid/test_look_back_columns.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    COLUMNS: constexpr(int) = TX * WIDTH
    SHARES: constexpr(int) = THREADS // COLUMNS
    t: int32 @ thread[1] = id()
    share: int32 @ block[1] = (last - first + (SHARES * WORDS - 1)) // (SHARES * WORDS) * WORDS
    start: int32 @ thread[1] = first + t // COLUMNS * share
    sum: T @ thread[1] = identity
    with group(thread[1]):
        for k in range(0, share, WORDS):  # as `grid.receive_totals`, whose call would take registers that columns have not
            got: T[WORDS]
            receive(words[start_word + int64(start + k) * COLUMNS + t % COLUMNS], got, COLUMNS, last - start - k, identity, epoch)
            sum = OP(sum, thread.reduce(got, OP=OP))
    with group(thread[32]):
        for step in range(5):
            if COLUMNS << step < 32:
                above: T @ thread[1] = shuffle_down(sum, (COLUMNS << step) % 32)
                sum = OP(sum, above)  # of the first lanes all are there
    parts: shared(T[THREADS // 32 * COLUMNS]) @ block[1]
    with partition(parts, thread[1], offset=t // 32 * COLUMNS + t % 32, races="none") as own:  # one thread writes each
        with group(thread[1]):
            if t % 32 < COLUMNS:
                own[0] = sum
    with group(thread[1]):
        for k in range(WIDTH):
            for v in range(THREADS // 32):
                prefix[k] = OP(prefix[k], parts[v * COLUMNS + t % TX * WIDTH + k])
