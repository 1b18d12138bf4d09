"""A block combines the totals of the tiles before its own."""

from prism.lang import (
    block, constexpr, count, dtype, function, grid, group, id, int32, mailbox, prism, ptr, receive, requires,
    static_assert, template, thread, uint32,
)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function, THREADS=constexpr(int), WORDS=constexpr(int))
def look_back(
    words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1], identity: T @ block[1],
    epoch: uint32 @ block[1],
) -> T @ block[1]:
    """`OP` of the totals of the tiles `first ... last - 1`, in their order, as they are published; `identity` if there are none.

    A block that keeps its prefix asks for the tiles since its last one alone, as many as there are blocks: so none waits for
    another's prefix, only for totals, which are out early.

    Perspective: block, of `THREADS` threads.
    Shapes:      `words`: as of `grid.publish`.
    Cost:        a round trip for each `THREADS * WORDS` words, `WORDS` of a thread under way at once, and a reduction of the
                 block.
    Numerics:    reassociates `OP`, in a way fixed by `first`, `last` and the template; `OP` need not be commutative. Where
                 `first` is the block's last tile, that differs from run to run: `grid.look_back_stable` does not.
    Errors:      each of these tiles must be published by a block that does not wait for this one, as those that are drawn by
                 `grid.draw` are, or those of blocks of lower numbers.
    Source:      Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back".
    Test:        tests/lib/grid/test_look_back.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    sum: T @ thread[1] = grid.look_back_share(words, first, last, identity, epoch, OP=OP, THREADS=THREADS, WORDS=WORDS)
    return block.reduce(sum, OP=OP)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function, THREADS=constexpr(int), WORDS=constexpr(int))
def look_back_share(
    words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1], identity: T @ block[1],
    epoch: uint32 @ block[1],
) -> T @ thread[1]:
    """What `grid.look_back` computes, a share of it in each thread, in order: a `block.reduce` of them is all.

    Perspective: block, of `THREADS` threads.
    Shapes:      `words`: as of `grid.publish`.
    Cost:        a round trip for each `THREADS * WORDS` words, `WORDS` of a thread under way at once; no barrier.
    Numerics:    as of `grid.look_back`.
    Errors:      as of `grid.look_back`.
    Test:        tests/lib/grid/test_look_back.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    sum: T @ thread[1] = identity

    @requires(thread[1])
    def take(got: T[WORDS] @ thread[1], tile: int32 @ thread[1]):
        nonlocal sum
        sum = OP(sum, thread.reduce(got, OP=OP))

    grid.look_back_each(words, first, last, identity, epoch, TAKE=take, THREADS=THREADS, WORDS=WORDS)
    return sum


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, TAKE=function, THREADS=constexpr(int), WORDS=constexpr(int))
def look_back_each(
    words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1], unset: T @ block[1],
    epoch: uint32 @ block[1],
):
    """Each thread's share of the words of the tiles `first ... last - 1`, as they are published: `TAKE(got, tile)`.

    For words that say more than a total: a count, and where the last one stands.

    Perspective: block, of `THREADS` threads; `TAKE` is of a thread.
    Shapes:      `words`: as of `grid.publish`. `got: T[WORDS]` are those of `tile` and the tiles after it, of tiles that follow
                 one another from thread to thread; behind the last one `unset`.
    Cost:        a round trip for each `THREADS * WORDS` words; no barrier.
    Numerics:    what `TAKE` computes, of words in order; none between threads.
    Errors:      as of `grid.look_back`.
    Test:        tests/lib/grid/test_look_back.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    ROUND: constexpr(int) = THREADS * WORDS
    share: int32 @ block[1] = (last - first + (ROUND - 1)) // ROUND * WORDS
    start: int32 @ thread[1] = first + id() * share
    with group(thread[1]):
        for k in range(0, share, WORDS):  # not by `grid.receive_totals`: some kernels that call it become longer
            got: T[WORDS]
            receive(words[start + k], got, 1, last - start - k, unset, epoch)
            TAKE(got, start + k)
