"""A block combines one value of each thread, for its first thread."""

from prism.lang import (
    block, claim, constexpr, count, dtype, function, group, id, int32, partition, prism, requires, shared, split, template,
    thread, warp,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, OP=function, MOST=constexpr(int), TENSOR=constexpr(bool))
def reduce_to_first(value: T @ thread[1], identity: T @ block[1]) -> T @ thread[1]:
    """`OP` of the threads' values, in the order of the threads: the first thread has the result.

    It is quicker than `block.reduce`: the first warp alone combines the warps' results, and not one after the other.

    Perspective: block, of any number of warps, up to `MOST` threads.
    Shapes:      `TENSOR`: as of `warp.reduce_to_first`.
    Returns:     what threads other than the first get is of no use. `identity` must be `OP`'s.
    Cost:        two reductions of a warp, and one barrier; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size and the template; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_to_first.py
    """
    sums: shared(T[32]) @ block[1]
    sum: T @ thread[1] = warp.reduce_to_first(value, OP=OP, FEW=MOST <= 256, TENSOR=TENSOR)
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own, group(thread[32]):
        with claim(own, thread[1]) as slot:
            match split(thread):
                case 1:
                    slot[0] = sum
    many: int32 @ block[1] = count(warp[1])
    match split(warp):
        case 1:
            lane: int32 @ thread[1] = id()
            sum = warp.reduce_to_first(sums[lane] if lane < many else identity, OP=OP, FEW=True, TENSOR=TENSOR)
    return sum
