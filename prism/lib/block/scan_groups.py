"""Parts of a block, of some warps each, scan what their registers hold, each part its own."""

from prism.lang import (
    block, claim, constexpr, dtype, function, group, id, int32, partition, prism, requires, shared, split, static_assert,
    template, thread, warp,
)


@prism("device")
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool), SIZE=constexpr(int))
@requires(block[1], thread[SIZE])
def scan_groups(items: T[ITEMS] @ thread[1], identity: T @ block[1]) -> T @ thread[SIZE]:
    """Replace each element by `OP` of all elements of its group up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, as groups of `SIZE` threads, a multiple of 32. Smaller ones: `warp.scan_groups`.
    Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`.
    Returns:     `OP` of the group's elements. `identity` must be `OP`'s: the first element's exclusive result.
    Cost:        a warp's scan, a barrier of each group, and a read of its warps' results; 32 elements of shared memory.
    Errors:      group, where a block can have more than 15 groups: state its size, as `@attr("__launch_bounds__(256)")`.
    Numerics:    reassociates `OP`, in a way fixed by `SIZE`; `OP` need not be commutative.
    Test:        tests/lib/block/test_groups.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(SIZE >= 32 and SIZE % 32 == 0, "`SIZE` is a multiple of 32")
    sums: shared(T[32]) @ block[1]
    total: T @ thread[SIZE] = identity
    g: int32 @ thread[SIZE] = id()
    with partition(sums, thread[SIZE], offset=g * (SIZE // 32)) as part:
        with group(thread[SIZE]):
            sum: T @ thread[32] = warp.scan(items, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
            w: int32 @ thread[32] = id()
            with partition(part, thread[32], offset=w) as own:
                with group(thread[32]):
                    with claim(own, thread[1]) as slot:
                        match split(thread):
                            case 1:
                                slot[0] = sum
            before: T @ thread[32] = identity
            for v in range(SIZE // 32):
                before = total if v == w else before
                total = OP(total, part[v])
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = OP(before, items[k])
    return total
