"""A block combines one value of each thread, into memory."""

from prism.lang import (
    block, claim, count, dtype, function, group, id, int32, partition, prism, ptr, requires, shared, split, template, thread,
    warp,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, OP=function)
def reduce_into(y: ptr(T) @ block[1], value: T @ thread[1]):
    """`y[0] = OP` of the threads' values, in the order of the threads: the first thread has the result, and writes it.

    Perspective: block, of any number of warps.
    Cost:        a warp's reduction, and one barrier; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_more.py
    """
    sums: shared(T[32]) @ block[1]
    sum: T @ thread[32] = warp.reduce(value, OP=OP)
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    warps: int32 @ block[1] = count(warp[1])
    with claim(y, thread[1]) as target:
        match split(thread):
            case 1:
                total: T = sums[0]
                for v in range(1, warps):
                    total = OP(total, sums[v])
                target[0] = total
