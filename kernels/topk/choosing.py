"""What kernels of first elements have in common: bounds, exact selection among what a block holds, and its order."""

from prism.lang import (
    atomic_add, block, constexpr, count, dtype, float32, function, group, id, int32, partition, prism, ptr, requires, shared,
    static_assert, template, thread, uint32,
)
from prism.kernels.topk.configurations import FEW
from prism.kernels.topk.keys import stands_before
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(U=dtype, KEY=function, PLACE=function, BITS=constexpr(int), THREADS=constexpr(int))
def find_bound(
    n: int32 @ block[1], rank: int32 @ block[1], spare: int32 @ block[1], end: int32 @ block[1],
) -> (U, int32) @ block[1]:
    """The key of the element of rank `rank` of `n`, and the place up to which elements with that key are taken.

    Perspective: block, of `THREADS` threads.
    Shapes:      `KEY(i)` and `PLACE(i)` give element `i`'s key, below `2^BITS`, and place. What is taken are `rank + 1` elements,
                 or up to `spare` more of the same key: then that place is `end`.
    """
    bound: U @ block[1] = 0
    below: int32 @ block[1] = 0
    equal: int32 @ block[1] = 0
    last: int32 @ block[1] = end

    @requires(thread[1])
    def every(i: int32 @ thread[1]) -> bool @ thread[1]:
        return True

    @requires(thread[1])
    def is_bound(i: int32 @ thread[1]) -> bool @ thread[1]:
        return KEY(i) == bound

    bound, below, equal = block.select_rank(n, rank, U=U, KEY=KEY, COUNTS=every, BITS=BITS, THREADS=THREADS)
    if below + equal > rank + 1 + spare:
        spot: uint32 @ block[1] = 0
        spot, below, equal = block.select_rank(
            n, rank - below, U=uint32, KEY=PLACE, COUNTS=is_bound, BITS=32, THREADS=THREADS,
        )
        last = min(int32(spot), end)
    return bound, last


@prism.device
@requires(thread[1])
@template(U=dtype, SIZE=constexpr(int))
def part_of(key: U @ thread[1], low: U @ thread[1], scale: float32 @ thread[1]) -> int32 @ thread[1]:
    """In which of `SIZE` equal parts of a range from `low` on a key is; never less of a larger key."""
    return min(int32(float32(key - low) * scale), SIZE - 1)


@prism.device
@requires(block[1], thread[32])
@template(U=dtype, GROUPS=constexpr(int), THREADS=constexpr(int))
def find_near(keys: U[GROUPS] @ thread[1], rank: int32 @ block[1], spare: int32 @ block[1]) -> (U, bool) @ block[1]:
    """A key that at least `rank + 1` of the threads' keys are not above, and whether up to `spare` more are not; else any key.

    Perspective: block, of `THREADS` threads.
    Shapes:      as many equal parts of the keys' range as there are keys are told apart, in one step; `block.select_rank`, which
                 finds the very key, takes one for each of its bytes.
    """
    SIZE: constexpr(int) = THREADS * GROUPS
    t: int32 @ thread[1] = id()
    counts: shared(int32[SIZE]) @ block[1]
    found: shared(int32[2]) @ block[1]  # the part in which the key of that rank is, and how many there are up to its end
    least: U @ thread[1] = keys[0]
    most: U @ thread[1] = keys[0]
    with group(thread[1]):
        for g in range(1, GROUPS):
            least = min(least, keys[g])
            most = max(most, keys[g])
    low: U @ block[1] = block.reduce(least, OP=operators.minimum)
    span: U @ block[1] = block.reduce(most, OP=operators.maximum) - low
    scale: float32 @ block[1] = float32(SIZE) / (float32(span) + float32(1))
    block.fill(counts, 0, SIZE)  # a loop: with eight stores for it a kernel spills a register
    with group(thread[1]):
        for g in range(GROUPS):
            atomic_add(counts[part_of(keys[g], low, scale, SIZE=SIZE)], 1, scope="block")
    sums: int32[GROUPS] @ thread[1]
    own: int32[GROUPS] @ thread[1]
    with group(thread[1]):
        for g in range(GROUPS):
            own[g] = counts[t * GROUPS + g]
            sums[g] = own[g]
    block.scan(sums, 0, WIDTH=GROUPS, OP=operators.add, EXCLUSIVE=True)
    with partition(found, thread[1], offset=lambda i: i, races="none") as told, group(thread[1]):
        for g in range(GROUPS):
            if sums[g] <= rank and rank < sums[g] + own[g]:
                told[0] = t * GROUPS + g
                told[1] = sums[g] + own[g]
    with group(thread[1]):
        least = low
        for g in range(GROUPS):
            if part_of(keys[g], low, scale, SIZE=SIZE) <= found[0]:
                least = max(least, keys[g])
    bound: U @ block[1] = block.reduce(least, OP=operators.maximum)
    return bound, found[1] <= rank + 1 + spare


@prism.device
@requires(block[1], thread[32])
@template(E=dtype, U=dtype, BITS=constexpr(int), THREADS=constexpr(int))
def keep_first(held: ptr(E) @ block[1], counter: ptr(uint32) @ block[1], many: int32 @ block[1], most: int32 @ block[1]):
    """Put the first `most` of the `many` elements that are held close together, in any order.

    Perspective: block, of `THREADS` threads.
    Shapes:      `counter`: one.
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    EACH: constexpr(int) = 4

    @requires(thread[1])
    def held_key(i: int32 @ thread[1]) -> U @ thread[1]:
        return held[i].key

    @requires(thread[1])
    def held_place(i: int32 @ thread[1]) -> uint32 @ thread[1]:
        return held[i].place

    t: int32 @ thread[1] = id()
    bound: U @ block[1] = 0
    last: int32 @ block[1] = 0
    bound, last = find_bound(many, most - 1, 0, 2147483647, U=U, KEY=held_key, PLACE=held_place, BITS=BITS, THREADS=THREADS)
    block.fill(counter, 0, 1, THREADS=THREADS)
    for start in range(0, many, EACH * THREADS, unroll=False):  # no more are put close together than have been read
        ones: E[EACH] @ thread[1]
        flags: uint32 @ thread[1] = 0
        with group(thread[1]):
            for j in range(EACH):
                if start + t + j * THREADS < many:
                    ones[j] = held[start + t + j * THREADS]
                    first: bool = ones[j].key < bound or (ones[j].key == bound and int32(ones[j].place) <= last)
                    flags = flags | (uint32(1) << j if first else uint32(0))
        with partition(held, thread[1], offset=lambda s: s, races="none") as slots, group(thread[1]):
            for j in range(EACH):
                if flags >> j & 1 != 0:
                    slot: uint32 = atomic_add(counter[0], 1, scope="block")
                    slots[slot] = ones[j]


@prism.device
@requires(block[1], thread[32])
@template(
    E=dtype, U=dtype, WRITE=function, ALL=constexpr(int), KEPT=constexpr(int), BITS=constexpr(int), THREADS=constexpr(int),
)
def write_first(held: ptr(E) @ block[1], counter: ptr(uint32) @ block[1], many: int32 @ block[1], most: int32 @ block[1]):
    """Write the first `most` of the `many` elements that are held, in their order: `WRITE(number, element)` writes one.

    Perspective: block, of `THREADS` threads.
    Shapes:      `held` is not kept. `counter`: one. `most`: at most `THREADS * KEPT`, powers of two. `WRITE`: a function of
                 a thread.
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    left: int32 @ block[1] = many
    if many > max(FEW, THREADS * KEPT):
        keep_first(held, counter, many, most, U=U, BITS=BITS, THREADS=THREADS)
        left = most
    if left <= FEW:
        with group(thread[1]):
            for e in range(t, left, THREADS, unroll=False):
                mine: E = held[e]
                rank: int32 = 0
                for s in range(left, unroll=4):
                    other: E = held[s]
                    rank = rank + (1 if stands_before(other, mine) else 0)
                if rank < most:
                    WRITE(rank, mine)
    else:
        apart: bool @ block[1] = False
        apart = write_by_buckets(held, left, most, U=U, WRITE=WRITE, KEPT=KEPT, THREADS=THREADS)
        if not apart:
            sorted: E[KEPT] @ thread[1]
            with group(thread[1]):
                for j in range(KEPT):
                    sorted[j] = held[t * KEPT + j] if t * KEPT + j < left else E(U(ALL), uint32(4294967295))
            block.sort_network(sorted, THREADS=THREADS, LESS=stands_before, TOTAL=True)
            with group(thread[1]):
                for j in range(KEPT):
                    if t * KEPT + j < most:
                        WRITE(t * KEPT + j, sorted[j])


@prism.device
@requires(block[1], thread[32])
@template(E=dtype, U=dtype, WRITE=function, KEPT=constexpr(int), THREADS=constexpr(int))
def write_by_buckets(held: ptr(E) @ block[1], left: int32 @ block[1], most: int32 @ block[1]) -> bool @ block[1]:
    """Write the first `most` of `left` elements as `write_first` does, and return True; or nothing, where keys lie too close.

    Perspective: block, of `THREADS` threads.
    Shapes:      `held`: at most `THREADS * KEPT`, of which as many parts of the keys' range are told apart. Elements are put
                 side by side by these, and each is compared with those that share its part: `CROWD` at most.
    """
    CROWD: constexpr(int) = 24
    SIZE: constexpr(int) = THREADS * KEPT
    t: int32 @ thread[1] = id()
    starts: shared(int32[SIZE]) @ block[1]
    ones: E[KEPT] @ thread[1]
    least: U @ thread[1] = held[0].key
    highest: U @ thread[1] = held[0].key
    with group(thread[1]):
        for j in range(KEPT):
            if j * THREADS + t < left:
                ones[j] = held[j * THREADS + t]
                least = min(least, ones[j].key)
                highest = max(highest, ones[j].key)
    low: U @ block[1] = block.reduce(least, OP=operators.minimum)
    span: U @ block[1] = block.reduce(highest, OP=operators.maximum) - low
    scale: float32 @ block[1] = float32(SIZE) / (float32(span) + float32(1))
    ranks: int32[KEPT] @ thread[1]
    crowded: bool @ thread[1] = False
    block.fill(starts, 0, SIZE, THREADS=THREADS)
    with group(thread[1]):
        for j in range(KEPT):
            if j * THREADS + t < left:
                ranks[j] = atomic_add(starts[part_of(ones[j].key, low, scale, SIZE=SIZE)], 1, scope="block")
                crowded = crowded or ranks[j] >= CROWD
    apart: bool @ block[1] = not block.any(crowded)
    if apart:
        counts: int32[KEPT] @ thread[1]
        with partition(starts, thread[1], offset=t * KEPT) as own:
            with group(thread[1]):
                for j in range(KEPT):
                    counts[j] = own[j]
            block.scan(counts, 0, WIDTH=KEPT, OP=operators.add, EXCLUSIVE=True)
            with group(thread[1]):
                for j in range(KEPT):
                    own[j] = counts[j]
        with partition(held, thread[1], offset=lambda s: s, races="none") as slots, group(thread[1]):
            for j in range(KEPT):
                if j * THREADS + t < left:
                    slots[starts[part_of(ones[j].key, low, scale, SIZE=SIZE)] + ranks[j]] = ones[j]
        with group(thread[1]):
            for j in range(KEPT):
                if j * THREADS + t < left:
                    mine: E = held[j * THREADS + t]
                    part: int32 = part_of(mine.key, low, scale, SIZE=SIZE)
                    first: int32 = starts[part]
                    rank: int32 = first
                    end: int32 = starts[part + 1] if part + 1 < SIZE else left
                    for s in range(first, end, unroll=False):  # hardly more than one of a part
                        if stands_before(held[s], mine):
                            rank = rank + 1
                    if rank < most:
                        WRITE(rank, mine)
    return apart


__all__ = ["find_bound", "find_near", "keep_first", "write_by_buckets", "write_first"]
