"""Parts of a block, of some warps each, combine one value of each thread, each part its own."""

from prism.lang import (
    block, claim, constexpr, dtype, function, group, id, int32, partition, prism, requires, shared, split, static_assert,
    template, thread, warp,
)


@prism("device")
@template(T=dtype, OP=function, SIZE=constexpr(int))
@requires(block[1], thread[SIZE])
def reduce_groups(value: T @ thread[1]) -> T @ thread[SIZE]:
    """`OP` of the values of each `SIZE` threads, in the order of the threads; all of a group get its result.

    Perspective: block, as groups of `SIZE` threads, a multiple of 32. Smaller ones: `warp.reduce_groups`.
    Cost:        a warp's reduction, a barrier of each group, and a read of its warps' results; 32 elements of shared memory.
    Errors:      group, where a block can have more than 15 groups: state its size, as `@attr("__launch_bounds__(256)")`.
    Numerics:    reassociates `OP`, in a way fixed by `SIZE`; `OP` need not be commutative.
    Test:        tests/lib/block/test_groups.py
    """
    static_assert(SIZE >= 32 and SIZE % 32 == 0, "`SIZE` is a multiple of 32")
    sums: shared(T[32]) @ block[1]
    total: T @ thread[SIZE]
    g: int32 @ thread[SIZE] = id()
    with partition(sums, thread[SIZE], offset=g * (SIZE // 32)) as part:
        with group(thread[SIZE]):
            sum: T @ thread[32] = warp.reduce(value, OP=OP)
            w: int32 @ thread[32] = id()
            with partition(part, thread[32], offset=w) as own:
                with group(thread[32]):
                    with claim(own, thread[1]) as slot:
                        match split(thread):
                            case 1:
                                slot[0] = sum
            total = part[0]
            for v in range(1, SIZE // 32):
                total = OP(total, part[v])
    return total
