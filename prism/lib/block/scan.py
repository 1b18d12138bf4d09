"""A block scans a tile that its registers hold."""

from prism.lang import (
    block, claim, constexpr, count, dtype, function, group, id, int32, partition, prism, requires, shared, split,
    static_assert, template, thread, warp,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan(items: T[ITEMS] @ thread[1], identity: T @ block[1]) -> T @ block[1]:
    """Replace each element by `OP` of all elements of the tile up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`.
    Returns:     `OP` of the whole tile. `identity` must be `OP`'s: the first element's exclusive result.
    Cost:        a warp's scan, one barrier, and a read of each warp's result; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_scan.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    sums: shared(T[32]) @ block[1]
    sum: T @ thread[32] = warp.scan(items, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    before: T @ thread[32] = identity
    total: T @ block[1] = identity
    for v in range(count(warp[1])):
        before = total if v == w else before
        total = OP(total, sums[v])
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = OP(before, items[k])
    return total
