"""Several warps that have code of their own combine one value of each thread."""

from prism.lang import (
    broadcast, claim, constexpr, dtype, function, group, id, int32, partition, prism, ptr, requires, split, static_assert,
    template, thread, warp,
)


@prism("device")
@template(T=dtype, OP=function, SIZE=constexpr(int))
@requires(thread[SIZE])
def reduce_across(value: T @ thread[1], scratch: ptr(T) @ thread[SIZE]) -> T @ thread[32]:
    """`OP` of the values of `SIZE` threads, in their order; all their warps get the result.

    Perspective: `thread[SIZE]`, whole warps: for an arm of a split, or a role. A block calls `block.reduce_groups`.
    Shapes:      `scratch`: `SIZE / 32` elements of shared memory that the block has declared and these threads have claimed:
                 only a block's code declares shared memory.
    Cost:        a warp's reduction, one barrier of the `SIZE` threads, and a read of each warp's result.
    Errors:      group, where a block can have more than 15 such groups: state its size, `@attr("__launch_bounds__(256)")`.
    Numerics:    reassociates `OP`, in a way fixed by `SIZE`; `OP` need not be commutative.
    Test:        tests/lib/block/test_groups.py
    """
    static_assert(SIZE >= 32 and SIZE % 32 == 0, "`SIZE` is a multiple of 32")
    sum: T @ thread[32] = warp.reduce(value, OP=OP)
    w: int32 @ thread[32] = id()
    with partition(scratch, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    total: T @ thread[1] = scratch[0]
    for v in range(1, SIZE // 32):
        total = OP(total, scratch[v])
    return broadcast(total, 0)
