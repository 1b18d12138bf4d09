"""A warp, or several, or parts of one, combine one value of each lane."""

from prism.lang import (
    broadcast, claim, constexpr, dtype, float64, function, group, id, int32, mma_m8n8k4_f64, partition, prism, ptr, requires,
    shuffle, shuffle_down, shuffle_xor, split, static_assert, template, thread, uint32, uint64, warp, warp_max, warp_min,
    warp_sum,
)
from prism.lib.thread import operators


@prism.device
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


@prism.device
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


@prism.device
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


@prism.device
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


@prism.device
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
    return shuffle(sum, lane // SIZE * SIZE)


@prism.device
@template(T=dtype, OP=function, SIZE=constexpr(int))
@requires(thread["SIZE"])
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


@prism.device
@requires(thread[32])
@template(T=dtype, OP=function)
def reduce_near(value: T @ thread[1], lanes: int32 @ thread[32]) -> T @ thread[1]:
    """`OP` of the values of each `1 << lanes` lanes that follow one another; each of them gets it.

    Perspective: warp.
    Shapes:      `lanes`: 0 to 5. It need not be known when the kernel is compiled, unlike `SIZE` of `warp.reduce_groups`.
    Cost:        `lanes` shuffles and applications of `OP`, one after the other; no barrier, no shared memory.
    Numerics:    reassociates `OP`, in a way fixed by `lanes`; `OP` must be commutative, bit for bit, for lanes to have the same.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/block/test_reduce_all.py
    """
    sum: T @ thread[1] = value
    for j in range(5):
        if j < lanes:
            other: T @ thread[1] = shuffle_xor(sum, 1 << j)
            sum = OP(sum, other)
    return sum
