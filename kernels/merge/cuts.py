"""Where tiles of a merge begin in its two runs: of each `GROUP` tiles one is found by a kernel before, the others by their blocks."""

from prism.lang import (
    ballot, block, const, constexpr, dtype, function, group, id, int32, int64, partition, popcount, prism, ptr, requires, shared,
    template, thread, uint32, warp,
)

GROUP = 8
"""So many tiles lie between cuts that a kernel finds. It is a chain of reads, and takes as long for a few as for all of them."""


@prism("device")
@requires(thread[32])
@template(T=dtype, LESS=function)
def cut_between(
    a: ptr(const(T)) @ thread[32], b: ptr(const(T)) @ thread[32], least: int64 @ thread[32], most: int64 @ thread[32],
    diagonal: int64 @ thread[32], guess: int64 @ thread[32],
) -> int64 @ thread[32]:
    """How many of the first `diagonal` elements of the merge of two sorted runs are of the first one: from `least` to `most`.

    Perspective: warp. 32 places are looked at at once: at first about `guess`, 16 apart, where there are many.
    """
    lane: int64 @ thread[1] = int64(id())
    low: int64 @ thread[32] = least
    high: int64 @ thread[32] = most
    step: int64 @ thread[32] = (high - low) / 33 + 1
    start: int64 @ thread[32] = low + (step - 1)
    if high - low > 1024:
        step = 16
        start = guess - 256
    while low < high:
        stands: bool @ thread[1] = False
        with group(thread[1]):
            place: int64 = start + lane * step
            stands = place < low
            if low <= place and place < high:
                left: T = a[place]
                right: T = b[diagonal - 1 - place]
                stands = not LESS(right, left)
        many: int64 @ thread[32] = int64(popcount(ballot(stands)))  # of these places are before the cut
        above: int64 @ thread[32] = min(high, start + many * step) if many < 32 else high
        low = max(low, start + (many - 1) * step + 1) if many > 0 else low
        high = above
        step = (high - low) / 33 + 1
        start = low + (step - 1)
    return low


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, LESS=function, TILE=constexpr(int))
def cut_tile(
    a: ptr(const(T)) @ block[1], b: ptr(const(T)) @ block[1], cuts: ptr(const(int64)) @ block[1], number: int64 @ block[1],
    one: int64 @ block[1], other: int64 @ block[1],
) -> (int64, int64) @ block[1]:
    """Where tile `number` of a merge of two runs, of `one` and `other` elements, begins in the first one, and where it ends.

    Perspective: block, of two warps or more.
    Shapes:      `cuts`: of each `GROUP` tiles the first one's, of this merge. No tile ends behind the merge's end.
    """
    w: int32 @ warp[1] = id()
    found: shared(int64[2]) @ block[1]
    here: int64 @ block[1] = number / GROUP
    begin: int64 @ block[1] = here * (GROUP * TILE)
    end: int64 @ block[1] = min(begin + GROUP * TILE, one + other)
    first: int64 @ block[1] = cuts[here]
    last: int64 @ block[1] = one
    if end < one + other:
        last = cuts[here + 1]
    cut: int64 @ warp[1] = 0
    with group(warp[1]):
        if w < 2:
            diagonal: int64 @ warp[1] = min((number + w) * TILE, one + other)
            cut = cut_between(
                a, b, max(first, diagonal - (end - last)), min(last, diagonal - (begin - first)), diagonal,
                first + (last - first) * (diagonal - begin) / (GROUP * TILE), LESS=LESS,
            )
    t: int32 @ thread[1] = id()
    with partition(found, thread[1], offset=t / 32, races="none") as own, group(thread[1]):
        if t == 0 or t == 32:
            own[0] = cut
    return found[0], found[1]


__all__ = ["GROUP", "cut_tile"]
