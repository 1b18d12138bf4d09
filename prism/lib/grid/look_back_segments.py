"""A block combines the totals of the tiles before its own, from the last one on in which a segment begins."""

from prism.lang import (
    block, claim, constexpr, count, dtype, function, grid, group, id, int32, mailbox, partition, prism, ptr, receive, requires,
    shared, shuffle_down, split, static_assert, template, thread, uint32, warp,
)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function, THREADS=constexpr(int), WORDS=constexpr(int))
def look_back_segments(
    words: ptr(mailbox(T)) @ grid[1], heads: ptr(mailbox(uint32)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1],
    identity: T @ block[1], epoch: uint32 @ block[1], number: int32[1] @ block[1],
) -> T @ block[1]:
    """`OP` of the totals of the tiles `first ... last - 1`, from the last one with a head on; `number` becomes that of all heads.

    A head is the first element of a segment. Where `number[0]` is not 0, this is all that the segment at the end of these tiles
    comes to; else it is what they add to the segment that goes on through them.

    Perspective: block, of `THREADS` threads.
    Shapes:      `words`: as of `grid.publish`, a tile's total from its last head on, or of the whole tile; `heads`: how many it
                 has.
    Cost:        two round trips for each `THREADS * WORDS` tiles, and one barrier.
    Numerics:    reassociates `OP`, in a way fixed by `first`, `last` and the template; `OP` need not be commutative.
    Errors:      as of `grid.look_back`.
    Source:      Sengupta, Harris, Zhang and Owens, "Scan primitives for GPU computing".
    Test:        tests/lib/grid/test_look_back_segments.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    ROUND: constexpr(int) = THREADS * WORDS
    share: int32 @ block[1] = (last - first + (ROUND - 1)) // ROUND * WORDS
    start: int32 @ thread[1] = first + id() * share
    sum: T @ thread[1] = identity
    head_count: int32 @ thread[1] = 0
    with group(thread[1]):
        for k in range(0, share, WORDS):
            got: T[WORDS]
            found: uint32[WORDS]
            receive(words[start + k], got, 1, last - start - k, identity, epoch)
            receive(heads[start + k], found, 1, last - start - k, 0, epoch)
            for i in range(WORDS):
                sum = got[i] if found[i] != 0 else OP(sum, got[i])
                head_count = head_count + int32(found[i])
    sums: shared(T[32]) @ block[1]
    counts: shared(int32[32]) @ block[1]
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], w) as own_sum, partition(counts, thread[32], w) as own_count:
        with group(thread[32]):
            for step in range(5):
                # Lane l holds what lanes l ... l + 2^step - 1 hold, if there are so many; lane 0's are all there.
                above: T @ thread[1] = shuffle_down(sum, 1 << step)
                more: int32 @ thread[1] = shuffle_down(head_count, 1 << step)
                sum = above if more != 0 else OP(sum, above)
                head_count = head_count + more
            with claim(own_sum, thread[1]) as a, claim(own_count, thread[1]) as b:
                match split(thread):
                    case 1:
                        a[0] = sum
                        b[0] = head_count
    total: T @ block[1] = sums[0]
    all: int32 @ block[1] = counts[0]
    for v in range(1, count(warp[1])):
        total = sums[v] if counts[v] != 0 else OP(total, sums[v])
        all = all + counts[v]
    number[0] = all
    return total
