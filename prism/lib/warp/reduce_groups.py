"""Parts of a warp combine one value of each lane, each part its own."""

from prism.lang import (
    constexpr, dtype, function, id, int32, prism, requires, shuffle, shuffle_down, static_assert, template, thread,
)


@prism("device")
@requires(thread[32])
@template(T=dtype, OP=function, SIZE=constexpr(int))
def reduce_groups(value: T @ thread[1]) -> T @ thread[1]:
    """`OP` of the values of each `SIZE` lanes, in the order of the lanes; every lane gets its own group's result.

    Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32.
    Cost:        `log2(SIZE) + 1` shuffles; no barrier, no shared memory.
    Numerics:    reassociates `OP`, always in the same way; `OP` need not be commutative.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_groups.py
    """
    static_assert(1 <= SIZE <= 32 and SIZE & -SIZE == SIZE, "`SIZE` is a power of two of at most 32")
    lane: int32 @ thread[1] = id()
    sum: T @ thread[1] = value
    for step in range(5):
        if 1 << step < SIZE:
            # The first lane of each group holds the values of the 2^step lanes from it on.
            above: T @ thread[1] = shuffle_down(sum, 1 << step)
            sum = OP(sum, above)
    return shuffle(sum, lane / SIZE * SIZE)
