"""A warp combines one value of each of its first lanes."""

from prism.lang import broadcast, dtype, function, id, int32, prism, requires, shuffle_down, template, thread


@prism("device")
@requires(thread[32])
@template(T=dtype, OP=function)
def reduce_valid(value: T @ thread[1], valid: int32 @ thread[32], otherwise: T @ thread[32]) -> T @ thread[32]:
    """`OP` of the first `valid` lanes' values, in the order of the lanes; `otherwise` where `valid` is 0 or less.

    Perspective: warp.
    Shapes:      the other lanes' values are of no account; `valid` may be beyond 32. All lanes get the result.
    Cost:        6 shuffles and 5 applications of `OP`; no barrier, no shared memory.
    Numerics:    reassociates `OP`, always in the same way; `OP` need not be commutative.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_valid.py
    """
    lane: int32 @ thread[1] = id()
    sum: T @ thread[1] = value
    for step in range(5):
        above: T @ thread[1] = shuffle_down(sum, 1 << step)
        sum = OP(sum, above) if lane + (1 << step) < min(valid, 32) else sum
    total: T @ thread[32] = broadcast(sum, 0)
    return total if valid > 0 else otherwise
