"""A block combines one value of each of its first threads."""

from prism.lang import (
    block, claim, count, dtype, function, group, id, int32, partition, prism, requires, shared, split, template, thread, warp,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, OP=function)
def reduce_valid(value: T @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1]) -> T @ block[1]:
    """`OP` of the first `valid` threads' values, in the order of the threads; `otherwise` where `valid` is 0 or less.

    Perspective: block, of any number of warps.
    Shapes:      the other threads' values are of no account; `valid` may be beyond the block. All threads get the result.
    Cost:        a warp's reduction, one barrier, and a read of each warp's result; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_more.py
    """
    sums: shared(T[32]) @ block[1]
    w: int32 @ thread[32] = id()
    sum: T @ thread[32] = warp.reduce_valid(value, valid - 32 * w, otherwise, OP=OP)
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    total: T @ block[1] = sums[0]  # `otherwise`, where no warp has valid values
    for v in range(1, count(warp[1])):
        if 32 * v < valid:
            total = OP(total, sums[v])
    return total
