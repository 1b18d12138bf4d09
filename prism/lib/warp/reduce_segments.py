"""A warp combines one value of each lane, segment by segment."""

from prism.lang import (
    ballot, clz, dtype, first_set, function, id, int32, prism, requires, shuffle, shuffle_up, template, thread, uint32,
)


@prism("device")
@requires(thread[32])
@template(T=dtype, OP=function)
def reduce_segments(value: T @ thread[1], head: bool @ thread[1]) -> T @ thread[1]:
    """`OP` of the values of the lanes of this lane's segment, in their order; each lane gets its own segment's.

    Perspective: warp.
    Shapes:      a segment begins at lane 0, and at each lane whose `head` holds.
    Cost:        6 shuffles, a vote and 5 applications of `OP`; no barrier, no shared memory.
    Numerics:    reassociates `OP` inside a segment, always in the same way; `OP` need not be commutative.
    Source:      Sengupta, Harris et al., "Scan primitives for GPU computing"; PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_segments.py
    """
    lane: int32 @ thread[1] = id()
    bits: uint32 @ thread[32] = ballot(head or lane == 0)
    start: int32 @ thread[1] = lane - int32(clz(bits << (31 - lane)))
    above: uint32 @ thread[1] = bits >> lane >> 1
    last: int32 @ thread[1] = lane + int32(first_set(above)) - 1 if above != 0 else 31
    sum: T @ thread[1] = value
    for step in range(5):
        below: T @ thread[1] = shuffle_up(sum, 1 << step)
        sum = OP(below, sum) if lane - (1 << step) >= start else sum
    return shuffle(sum, last)
