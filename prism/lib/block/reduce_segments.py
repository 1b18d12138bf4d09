"""A block combines one value of each thread, segment by segment."""

from prism.lang import (
    ballot, block, broadcast, claim, clz, count, dtype, first_set, function, group, id, int32, partition, prism, requires,
    shared, shuffle, shuffle_up, split, template, thread, uint32, warp,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, OP=function)
def reduce_segments(value: T @ thread[1], head: bool @ thread[1]) -> T @ thread[1]:
    """`OP` of the values of the threads of this thread's segment, in their order; each thread gets its own segment's.

    Perspective: block, of any number of warps.
    Shapes:      a segment begins at the first thread, and at each thread whose `head` holds.
    Cost:        8 shuffles, a vote and 5 applications of `OP`, one barrier, and a read of the results of the warps that its
                 segment lies in; 64 elements and 32 words of shared memory.
    Numerics:    reassociates `OP` inside a segment, in a way fixed by the block's size; `OP` need not be commutative.
    Source:      Sengupta, Harris et al., "Scan primitives for GPU computing".
    Test:        tests/lib/block/test_segments.py
    """
    fronts: shared(T[32]) @ block[1]  # of each warp: what lies before its second segment
    backs: shared(T[32]) @ block[1]  # of each warp: its last segment
    marks: shared(uint32[32]) @ block[1]  # of each warp: its heads
    warps: int32 @ block[1] = count(warp[1])
    w: int32 @ thread[32] = id()
    t: int32 @ thread[1] = id()
    lane: int32 @ thread[1] = t % 32
    bits: uint32 @ thread[32] = ballot(head)
    start: int32 @ thread[1] = lane - int32(clz(bits << (31 - lane)))  # negative: no head up to here
    above: uint32 @ thread[1] = bits >> lane >> 1
    stop: int32 @ thread[1] = lane + int32(first_set(above)) - 1 if above != 0 else 31
    sum: T @ thread[1] = value
    for step in range(5):
        below: T @ thread[1] = shuffle_up(sum, 1 << step)
        sum = OP(below, sum) if lane - (1 << step) >= max(start, 0) else sum
    result: T @ thread[1] = shuffle(sum, stop)
    front: T @ thread[32] = broadcast(result, 0)
    back: T @ thread[32] = broadcast(result, 31)
    with partition(fronts, thread[32], offset=w) as own_front, partition(backs, thread[32], offset=w) as own_back:
        with partition(marks, thread[32], offset=w) as own_marks, group(thread[32]):
            with claim(own_front, thread[1]) as slot, claim(own_back, thread[1]) as spot, claim(own_marks, thread[1]) as place:
                match split(thread):
                    case 1:
                        slot[0] = front
                        spot[0] = back
                        place[0] = bits
    with group(thread[1]):
        v: int32 = w
        while start < 0 and v > 0:  # backwards, to the warp where the segment begins
            v = v - 1
            result = OP(backs[v], result)
            if marks[v] != 0:
                start = 0
        v = w + 1
        while stop == 31 and v < warps:  # forwards, to the warp where it ends
            if marks[v] % 2 == 1:
                stop = 0
            else:
                result = OP(result, fronts[v])
                if marks[v] != 0:
                    stop = 0
            v = v + 1
    return result
