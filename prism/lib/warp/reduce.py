"""A warp combines one value of each lane."""

from prism.lang import broadcast, dtype, function, prism, requires, shuffle_down, template, thread


@prism("device")
@requires(thread[32])
@template(T=dtype, OP=function)
def reduce(value: T @ thread[1]) -> T @ thread[32]:
    """`OP` of the lanes' values, in the order of the lanes; all lanes get the result.

    Perspective: warp.
    Cost:        6 shuffles and 5 applications of `OP`; no barrier, no shared memory.
    Numerics:    reassociates `OP`, always in the same way; `OP` need not be commutative.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_reduce_scan.py
    """
    sum: T @ thread[1] = value
    for step in range(5):
        # Lane l holds the values of lanes l ... l + 2^step - 1, if there are so many; lane 0's are all there.
        above: T @ thread[1] = shuffle_down(sum, 1 << step)
        sum = OP(sum, above)
    return broadcast(sum, 0)
