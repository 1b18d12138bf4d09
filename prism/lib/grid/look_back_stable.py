"""A block combines the totals of the tiles before its own, always in the same way."""

from prism.lang import (
    block, constexpr, count, dtype, function, grid, group, id, int32, mailbox, prism, ptr, receive, requires, static_assert,
    template, thread, uint32,
)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function, THREADS=constexpr(int), WORDS=constexpr(int))
def look_back_stable(
    words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], tile: int32 @ block[1], identity: T @ block[1],
    epoch: uint32 @ block[1], prefixes: T[2] @ block[1],
):
    """Make `prefixes[0]` the `OP` of what came before all tiles, and of all totals before `tile`.

    Totals are combined in groups of `THREADS` tiles that are the same for all blocks, so floating-point results are, bit for
    bit, the same in every run.

    Perspective: block, of `THREADS` threads.
    Shapes:      `words`: as of `grid.publish`. `prefixes[1]`: what comes before tile `first`, a multiple of `THREADS`; it
                 becomes what comes before tile `tile / THREADS * THREADS`, the `first` of the next call. At the first call
                 `first` is 0, and `prefixes[1]` what is before all.
    Cost:        as of `grid.look_back`, of up to `THREADS` tiles more, and a reduction of the block for each group.
    Numerics:    reassociates `OP`, in a way fixed by `tile` and `THREADS`; `OP` need not be commutative.
    Errors:      as of `grid.look_back`.
    Test:        tests/lib/grid/test_look_back.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    i: int32 @ thread[1] = id()
    prefixes[0] = prefixes[1]
    for start in range(first, tile, WORDS * THREADS):
        groups: T[WORDS] @ thread[1]
        with group(thread[1]):
            receive(words[start + i], groups, THREADS, (tile - start - i + (THREADS - 1)) // THREADS, identity, epoch)
        for k in range(WORDS):
            prefixes[0] = OP(prefixes[0], block.reduce(groups[k], OP=OP))
            if start + (k + 1) * THREADS <= tile:
                prefixes[1] = prefixes[0]
