"""A warp scans and combines segment by segment."""

from prism.lang import (
    ballot, bool_, broadcast, clz, constexpr, dtype, first_set, function, group, id, int32, prism, requires, shuffle,
    shuffle_up, static_assert, template, thread, uint32,
)


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_segments(
    items: T[ITEMS] @ thread[1], heads: bool_[ITEMS] @ thread[1], before: T @ thread[32], identity: T @ thread[32]
) -> T @ thread[32]:
    """Replace each element by `OP` of its segment up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: warp.
    Shapes:      striped vectors, as `warp.load` leaves them, both; `heads` says where a segment begins. Elements before the
                 first head go on with `before`.
    Returns:     `OP` of the last segment, and of `before` where there is no head. `identity` is a head's exclusive result.
    Cost:        7 shuffles, a vote and `3 * WIDTH + 5` applications of `OP` a row; no barrier, no shared memory.
    Numerics:    reassociates `OP` inside a segment, always in the same way; `OP` need not be commutative.
    Source:      Sengupta, Harris et al., "Scan primitives for GPU computing"; PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_segments.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    lane: int32 @ thread[1] = id()
    open: T @ thread[32] = before  # what the segment that goes on into the row has come to
    for j in range(ITEMS // WIDTH):
        sum: T @ thread[1] = items[j * WIDTH]
        begins: bool @ thread[1] = heads[j * WIDTH]
        for k in range(1, WIDTH):
            sum = items[j * WIDTH + k] if heads[j * WIDTH + k] else OP(sum, items[j * WIDTH + k])
            begins = begins or heads[j * WIDTH + k]
        bits: uint32 @ thread[32] = ballot(begins)
        start: int32 @ thread[1] = lane - int32(clz(bits << (31 - lane)))  # the last lane with a head so far; negative: none
        for step in range(5):
            below: T @ thread[1] = shuffle_up(sum, 1 << step)
            sum = OP(below, sum) if lane - (1 << step) >= max(start, 0) else sum
        last: T @ thread[1] = shuffle_up(sum, 1)
        segment_start: int32 @ thread[1] = shuffle_up(start, 1)
        running: T @ thread[1] = open if lane == 0 else (last if segment_start >= 0 else OP(open, last))
        for k in range(WIDTH):
            here: T @ thread[1] = items[j * WIDTH + k] if heads[j * WIDTH + k] else OP(running, items[j * WIDTH + k])
            if EXCLUSIVE:
                items[j * WIDTH + k] = identity if heads[j * WIDTH + k] else running
            else:
                items[j * WIDTH + k] = here
            running = here
        end: T @ thread[32] = broadcast(sum, 31)
        open = end if bits != 0 else OP(open, end)
    return open


@prism.device
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


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool), RUNS=constexpr(bool))
def scan_heads(
    items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], identity: T @ thread[32], initial: T @ thread[32]
) -> T @ thread[32]:
    """Replace each element by `OP` of `initial` and its segment up to it, in place; before the first head without `initial`.

    `warp.scan_segments` takes a bool an element. This takes a bit, of up to 32 elements.

    Perspective: warp.
    Shapes:      striped vectors, as `warp.load` leaves them; bit `i` of `flags` says whether a segment begins at `items[i]`.
                 `EXCLUSIVE` leaves out each element itself. `RUNS`: so it does, and a head's result is of what is before it, the
                 last of the segment that ends there.
    Returns:     `OP` of `initial` and all elements from the last head on, or of all of them. `identity` must be `OP`'s.
    Cost:        as of `warp.scan`, and a vote a row; no barrier, no shared memory.
    Numerics:    reassociates `OP` inside a segment, always in the same way; `OP` need not be commutative.
    Source:      Sengupta, Harris et al., "Scan primitives for GPU computing"; PTX ISA, `shfl.sync`.
    Test:        tests/lib/block/test_segments.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(ITEMS <= 32, "`flags` has a bit for each of `ITEMS`")
    lane: int32 @ thread[1] = id()
    before: T @ thread[32] = identity
    for j in range(ITEMS // WIDTH):
        row: uint32 @ thread[1] = flags >> (j * WIDTH) & (0xFFFFFFFF >> (32 - WIDTH))
        sum: T @ thread[1] = identity
        with group(thread[1]):
            for k in range(WIDTH):
                sum = OP(initial if (row >> k & 1) != 0 else sum, items[j * WIDTH + k])
        lanes: uint32 @ thread[32] = ballot(row != 0)
        below: uint32 @ thread[1] = lanes & (0xFFFFFFFF >> uint32(31 - lane))
        reach: int32 @ thread[1] = min(lane, int32(clz(below)) - 31 + lane)  # how many lanes below are of its last segment
        for step in range(5):
            other: T @ thread[1] = shuffle_up(sum, 1 << step)
            sum = OP(other, sum) if reach >= 1 << step else sum
        last: T @ thread[1] = shuffle_up(sum, 1)
        with group(thread[1]):
            alone: bool = (lanes & ((uint32(1) << uint32(lane)) - 1)) == 0
            running: T = before if lane == 0 else (OP(before, last) if alone else last)
            for k in range(WIDTH):
                begun: T = initial if (row >> k & 1) != 0 else running
                here: T = OP(begun, items[j * WIDTH + k])
                if RUNS:
                    items[j * WIDTH + k] = running
                else:
                    items[j * WIDTH + k] = begun if EXCLUSIVE else here
                running = here
        total: T @ thread[32] = broadcast(sum, 31)
        before = OP(before, total) if lanes == 0 else total
    return before
