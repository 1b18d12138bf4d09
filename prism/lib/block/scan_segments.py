"""A block scans a tile that its registers hold segment by segment."""

from prism.lang import (
    block, bool_, claim, constexpr, count, dtype, function, group, id, int32, partition, prism, requires, shared, split,
    static_assert, template, thread, warp, warp_min,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_segments(
    items: T[ITEMS] @ thread[1], heads: bool_[ITEMS] @ thread[1], before: T @ block[1], identity: T @ block[1]
) -> T @ block[1]:
    """Replace each element by `OP` of its segment up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them, both; `heads` says where a segment begins. Elements before the first head go on
                 with `before`, which `OP` takes once.
    Returns:     `OP` of the last segment, and of `before` where there is no head: `before` for the tile after this one.
                 `identity` must be `OP`'s: a head's exclusive result.
    Cost:        a warp's, one barrier, and a read of each warp's result; 32 elements and 32 words of shared memory.
    Numerics:    reassociates `OP` inside a segment, in a way fixed by the block's size; `OP` need not be commutative.
    Source:      Sengupta, Harris et al., "Scan primitives for GPU computing".
    Test:        tests/lib/block/test_segments.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    RUN: constexpr(int) = 32 * ITEMS
    sums: shared(T[32]) @ block[1]  # what each warp's last segment comes to inside the warp
    firsts: shared(int32[32]) @ block[1]  # where each warp's first head is, RUN if there is none
    w: int32 @ thread[32] = id()
    t: int32 @ thread[1] = id()
    mine: int32 @ thread[1] = RUN
    with group(thread[1]):
        for k in range(ITEMS - 1, -1, -1):
            if heads[k]:
                mine = (k // WIDTH * 32 + t % 32) * WIDTH + k % WIDTH
    first: int32 @ thread[32] = warp_min(mine)
    sum: T @ thread[32] = warp.scan_segments(items, heads, identity, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
    with partition(sums, thread[32], offset=w) as own, partition(firsts, thread[32], offset=w) as own_first:
        with group(thread[32]):
            with claim(own, thread[1]) as slot, claim(own_first, thread[1]) as spot:
                match split(thread):
                    case 1:
                        slot[0] = sum
                        spot[0] = first
    open: T @ thread[32] = before
    last: T @ block[1] = before
    for v in range(count(warp[1])):
        open = last if v == w else open
        last = sums[v] if firsts[v] < RUN else OP(last, sums[v])
    with group(thread[1]):
        for k in range(ITEMS):
            if (k // WIDTH * 32 + t % 32) * WIDTH + k % WIDTH < first:
                items[k] = OP(open, items[k])
    return last
