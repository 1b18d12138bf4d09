"""A block scans and combines segment by segment, or for each run of equal keys."""

from prism.lang import (
    ballot, block, bool_, broadcast, claim, clz, constexpr, count, dtype, first_set, function, group, id, int32,
    partition, popcount, prism, ptr, requires, shared, shuffle, shuffle_up, split, static_assert, template, thread,
    uint32, warp, warp_min, warp_sum,
)
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_segments(
    items: T[ITEMS] @ thread[1], heads: bool_[ITEMS] @ thread[1], before: T @ block[1], identity: T @ block[1]
) -> T @ block[1]:
    """Replace each element by `OP` of its segment up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them, both; `heads` says where a segment begins. Elements before the first head go on
                 with `before`, which `OP` takes once.
    Returns:     `OP` of the last segment, and of `before` where there is no head: `before` for the tile after this one.
                 `identity` must be `OP`'s: a head's exclusive result.
    Cost:        a warp's, one barrier, and a read of each warp's result; 32 elements and 32 words of shared memory.
    Numerics:    reassociates `OP` inside a segment, in a way fixed by the block's size; `OP` need not be commutative.
    Source:      Sengupta, Harris et al., "Scan primitives for GPU computing".
    Test:        tests/lib/block/test_segments.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    RUN: constexpr(int) = 32 * ITEMS
    sums: shared(T[32]) @ block[1]  # what each warp's last segment comes to inside the warp
    firsts: shared(int32[32]) @ block[1]  # where each warp's first head is, RUN if there is none
    w: int32 @ thread[32] = id()
    t: int32 @ thread[1] = id()
    mine: int32 @ thread[1] = RUN
    with group(thread[1]):
        for k in range(ITEMS - 1, -1, -1):
            if heads[k]:
                mine = (k // WIDTH * 32 + t % 32) * WIDTH + k % WIDTH
    first: int32 @ thread[32] = warp_min(mine)
    sum: T @ thread[32] = warp.scan_segments(items, heads, identity, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
    with partition(sums, thread[32], offset=w) as own, partition(firsts, thread[32], offset=w) as own_first:
        with group(thread[32]):
            with claim(own, thread[1]) as slot, claim(own_first, thread[1]) as spot:
                match split(thread):
                    case 1:
                        slot[0] = sum
                        spot[0] = first
    open: T @ thread[32] = before
    last: T @ block[1] = before
    for v in range(count(warp[1])):
        open = last if v == w else open
        last = sums[v] if firsts[v] < RUN else OP(last, sums[v])
    with group(thread[1]):
        for k in range(ITEMS):
            if (k // WIDTH * 32 + t % 32) * WIDTH + k % WIDTH < first:
                items[k] = OP(open, items[k])
    return last


@prism.device
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


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_by_key(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], identity: T @ block[1]) -> T @ block[1]:
    """Replace each item by `OP` of the items of its run of equal keys up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them, both; blocked where `WIDTH` is `ITEMS`. The tile begins a run.
    Returns:     `OP` of the last run. `identity` must be `OP`'s: the exclusive result of a run's first item. For runs across
                 tiles call `block.heads` and `block.scan_segments`, which take what came before.
    Cost:        `block.heads` and `block.scan_segments`: two barriers.
    Numerics:    reassociates `OP` inside a run, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_segments.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    flags: bool[ITEMS] @ thread[1]
    unused: K @ block[1] = 0
    block.heads(keys, flags, unused, True, WIDTH=WIDTH, DIFFERENT=operators.not_equal)
    return block.scan_segments(items, flags, identity, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, T=dtype, ITEMS=constexpr(int), OP=function)
def reduce_by_key(
    keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], identity: T @ block[1],
    unique: ptr(K) @ block[1], results: ptr(T) @ block[1],
) -> int32 @ block[1]:
    """Put each run's key into `unique` and `OP` of its items into `results`, in the order of the runs.

    Perspective: block, of any number of warps.
    Shapes:      `keys`, `items`: blocked, element `t * ITEMS + k` in thread `t`, of which the first `valid` are there; keys from
                 `valid` on are of no account, items are `identity`. `unique`, `results`: an element a run.
    Returns:     the number of runs. `items` and `keys` keep nothing of use.
    Cost:        `block.heads`, `block.tails`, two scans: four barriers.
    Numerics:    reassociates `OP` inside a run, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_segments.py
    """
    t: int32 @ thread[1] = id()
    begins: bool[ITEMS] @ thread[1]
    ends: bool[ITEMS] @ thread[1]
    ranks: int32[ITEMS] @ thread[1]
    unused: K @ block[1] = 0
    block.heads(keys, begins, unused, True, WIDTH=ITEMS, DIFFERENT=operators.not_equal)
    block.tails(keys, ends, unused, True, WIDTH=ITEMS, DIFFERENT=operators.not_equal)
    with group(thread[1]):
        for k in range(ITEMS):
            ends[k] = (ends[k] or t * ITEMS + k == valid - 1) and t * ITEMS + k < valid
            ranks[k] = 1 if ends[k] else 0
    block.scan_segments(items, begins, identity, identity, WIDTH=ITEMS, OP=OP, EXCLUSIVE=False)
    runs: int32 @ block[1] = block.scan(ranks, 0, WIDTH=ITEMS, OP=operators.add, EXCLUSIVE=True)
    # Each run ends in one thread alone, which has the run's number and its result.
    with partition(unique, thread[1], offset=lambda run: run) as key:
        with partition(results, thread[1], offset=lambda run: run) as result:
            with group(thread[1]):
                for k in range(ITEMS):
                    if ends[k]:
                        key[ranks[k]] = keys[k]
                        result[ranks[k]] = items[k]
    return runs


@prism.device
@requires(thread[1])
@template(WIDTH=constexpr(int))
def first_head(flags: uint32 @ thread[1], at: int32 @ thread[1], otherwise: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where in the tile the first of a thread's heads is."""
    i: int32 = int32(first_set(flags)) - 1
    return otherwise if flags == 0 else at + i // WIDTH * (32 * WIDTH) + i % WIDTH


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool), RUNS=constexpr(bool))
def scan_heads(
    items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], facts: int32[3] @ thread[1], identity: T @ block[1],
    initial: T @ block[1],
) -> T @ block[1]:
    """Replace each element by `OP` of `initial` and its segment up to it, in place; before the first head without `initial`.

    `block.scan_segments` takes a bool an element, and what came before. This takes a bit, of up to 32 elements a thread, and
    leaves what came before to `thread.continue_segment`: so a tile can be scanned before that is known.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them; bit `i` of `flags` says whether a segment begins at `items[i]`. `EXCLUSIVE`, `RUNS`:
                 as of `warp.scan_heads`. `facts` become: where in the tile its first head is, or its number of elements; how many
                 heads there are; and how many of them are in the warps before this thread's.
    Returns:     `OP` of `initial` and all elements from the last head on, or of all of them. `identity` must be `OP`'s.
    Cost:        a warp's scan, one barrier, and a read of each warp's result; 32 elements and 64 words of shared memory.
    Numerics:    reassociates `OP` inside a segment, in a way fixed by the block's size; `OP` need not be commutative.
    Source:      Sengupta, Harris et al., "Scan primitives for GPU computing".
    Test:        tests/lib/block/test_segments.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(ITEMS <= 32, "`flags` has a bit for each of `ITEMS`")
    tile: int32 @ block[1] = count(thread[1]) * ITEMS
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    sums: shared(T[32]) @ block[1]
    firsts: shared(int32[32]) @ block[1]
    counts: shared(int32[32]) @ block[1]
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], w) as own_sum, partition(firsts, thread[32], w) as own_first:
        with partition(counts, thread[32], w) as own_count, group(thread[32]):
            open: int32 @ thread[1] = first_head(flags, at, tile, WIDTH=WIDTH)
            first: int32 @ thread[32] = warp_min(open)
            number: int32 @ thread[32] = warp_sum(int32(popcount(flags)))
            sum: T @ thread[32] = warp.scan_heads(
                items, flags, identity, initial, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE, RUNS=RUNS,
            )
            with claim(own_sum, thread[1]) as a, claim(own_first, thread[1]) as b, claim(own_count, thread[1]) as c:
                match split(thread):
                    case 1:
                        a[0] = sum
                        b[0] = first
                        c[0] = number
    before: T @ thread[32] = identity
    mine: int32 @ thread[32] = tile
    heads_before: int32 @ thread[32] = 0
    total: T @ block[1] = identity
    nearest: int32 @ block[1] = tile
    total_heads: int32 @ block[1] = 0
    for v in range(count(warp[1])):
        before = total if v == w else before
        mine = firsts[v] if v == w else mine
        heads_before = total_heads if v == w else heads_before
        total = OP(total, sums[v]) if firsts[v] == tile else sums[v]
        nearest = min(nearest, firsts[v])
        total_heads = total_heads + counts[v]
    with group(thread[1]):
        facts[0] = nearest
        facts[1] = total_heads
        facts[2] = heads_before
        thread.continue_segment(items, before, at, mine, WIDTH=WIDTH, OP=OP, RUNS=RUNS)
    return total
