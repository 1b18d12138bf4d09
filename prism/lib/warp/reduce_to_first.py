"""A warp combines one value of each lane, for its first lane."""

from prism.lang import (
    constexpr, dtype, float64, function, int32, mma_m8n8k4_f64, prism, requires, shuffle_down, template, thread, uint32, uint64,
    warp_max, warp_min, warp_sum,
)
from prism.lib.thread import operators


@prism("device")
@requires(thread[32])
def tensor_sum(value: float64 @ thread[1]) -> float64 @ thread[1]:
    """The sum of the lanes' values, in their order, in every lane.

    Cost: two products of matrices, one after the other, and an addition.
    """
    ones: float64[1] @ thread[1]
    given: float64[1] @ thread[1]
    fours: float64[2] @ thread[1]
    sums: float64[2] @ thread[1]
    ones[0] = 1
    given[0] = value
    for k in range(2):
        fours[k] = -0.0  # as 0.0 the sum of -0.0s would be that
        sums[k] = -0.0
    mma_m8n8k4_f64(ones, given, fours)  # column n is of lanes 4 n ... 4 n + 3; lane l has those of 2 (l % 4) and the next
    given[0] = fours[0] + fours[1]
    mma_m8n8k4_f64(given, ones, sums)  # row m is of lanes 4 m ... 4 m + 3, which have all eight
    return sums[0]


@prism("device")
@requires(thread[32])
@template(T=dtype, OP=function, FEW=constexpr(bool), TENSOR=constexpr(bool))
def reduce_to_first(value: T @ thread[1]) -> T @ thread[1]:
    """`OP` of the lanes' values, in their order: lane 0 has the result, which saves what `warp.reduce` takes to tell the others.

    Perspective: warp.
    Shapes:      `FEW`: few warps do so at once. `TENSOR`: sums of float64 are made by the tensor cores (sm_80).
    Returns:     what lanes other than the first get is of no use.
    Cost:        of integers of 4 bytes one instruction where there is one, and of uint64 three; else 5 shuffles, one after the
                 other, or, if `FEW`, 7, of which at most 3 wait for each other: many warps wait for room to shuffle, not for
                 what is shuffled. No barrier, no shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the template; `OP` need not be commutative.
    Source:      PTX ISA, `redux.sync`, `shfl.sync`, `mma.sync`.
    Test:        tests/lib/block/test_reduce_to_first.py
    """
    WORD: constexpr(bool) = T == int32 or T == uint32
    if TENSOR and T == float64 and OP == operators.add:
        return tensor_sum(value)
    elif WORD and OP == operators.add:
        return warp_sum(value)
    elif WORD and OP == operators.maximum:
        return warp_max(value)
    elif WORD and OP == operators.minimum:
        return warp_min(value)
    elif T == uint64 and OP == operators.add:
        low: uint32 @ thread[1] = uint32(value) & 0x3FFFFF
        middle: uint32 @ thread[1] = uint32(value >> 22) & 0x3FFFFF
        return warp_sum(low) + (uint64(warp_sum(middle)) << 22) + (uint64(warp_sum(uint32(value >> 44))) << 44)
    elif T == uint64 and OP == operators.maximum:
        above: uint32 @ thread[1] = uint32(value >> 32)
        most: uint32 @ thread[1] = warp_max(above)
        return (uint64(most) << 32) + warp_max(uint32(value) if above == most else uint32(0))
    else:
        sum: T @ thread[1] = value
        TREE: constexpr(int) = 4 if FEW else 0
        for step in range(0, TREE, 2):  # lane l holds those of lanes l ... l + 2^step - 1, if there are so many; lane 0's are
            one: T @ thread[1] = shuffle_down(sum, 1 << step)
            two: T @ thread[1] = shuffle_down(sum, 2 << step)
            three: T @ thread[1] = shuffle_down(sum, 3 << step)
            sum = OP(OP(sum, one), OP(two, three))
        for step in range(TREE, 5):
            above: T @ thread[1] = shuffle_down(sum, 1 << step)
            sum = OP(sum, above)
        return sum
