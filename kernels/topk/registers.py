"""The first elements of rows that registers hold: each row is read once, by a block, and its elements parted by their values.

The first elements of groups of a row say from where on at least as many stand as are asked for. What is behind that is cut into
equal parts; elements are counted by these, and those of the first parts put side by side, where each is compared with the few
that share its part. Where values lie too close for that the row is marked, and `top_rows` does it after.
"""

from prism.lang import (
    atomic_add, attr, bitcast, block, const, constexpr, float32, grid, group, id, int32, int64, load_vector, partition, prism,
    ptr, requires, shared, static_assert, template, thread, uint32, vector,
)
from prism.kernels.topk.keys import FLOAT, Narrow, key_of, stands_before, value_of
from prism.lib.thread import operators

CROWD = 24
"""So many elements of a part are compared with each other at most."""
_INFINITY, _NAN = 0x7F800000, 0x7FC00000


@prism.device
@requires(thread[1])
@template(BINS=constexpr(int))
def part_before(value: float32 @ thread[1], first: float32 @ thread[1], scale: float32 @ thread[1]) -> int32 @ thread[1]:
    """In which of `BINS` equal parts a value is, from `first` down; never less of a lower value."""
    return min(int32((first - value) * scale), BINS - 1)


@prism.device
@requires(block[1], thread[32])
@template(BINS=constexpr(int), THREADS=constexpr(int))
def find_parts(
    counts: ptr(const(int32)) @ block[1], starts: ptr(int32) @ block[1], found: ptr(int32) @ block[1], k: int32 @ block[1],
) -> bool @ block[1]:
    """Find where each part begins; `found` becomes the one in which element `k` is, and how many there are up to its end.

    Returns: whether one of these parts has more than `CROWD`.
    """
    EACH: constexpr(int) = BINS // THREADS
    t: int32 @ thread[1] = id()
    own: int32[EACH] @ thread[1]
    sums: int32[EACH] @ thread[1]
    crowded: bool @ thread[1] = False
    with group(thread[1]):
        for j in range(EACH):
            own[j] = counts[t * EACH + j]
            sums[j] = own[j]
    block.scan(sums, 0, WIDTH=EACH, OP=operators.add, EXCLUSIVE=True)
    with (
        partition(starts, thread[1], offset=t * EACH) as out,
        partition(found, thread[1], offset=lambda i: i, races="none") as told, group(thread[1]),
    ):
        for j in range(EACH):
            out[j] = sums[j]
            crowded = crowded or (sums[j] < k and own[j] > CROWD)
            if sums[j] < k and k <= sums[j] + own[j]:
                told[0] = t * EACH + j
                told[1] = sums[j] + own[j]
    return block.any(crowded)


@prism.kernel
@template(
    LARGEST=constexpr(bool), GROUPS=constexpr(int), ITEMS=constexpr(int), BINS=constexpr(int), ROOM=constexpr(int),
    THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def top_held(
    x: ptr(const(uint32)) @ grid[1], y: ptr(uint32) @ grid[1], indices: ptr(int64) @ grid[1], failed: ptr(int64) @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], stride: int64 @ grid[1],
):
    """`y` becomes the first `k` elements of each row, in their order, and `indices` where they stand; or `failed` is not 0.

    Perspective: grid, a block for each row.
    Shapes:      rows of `n` float32 each, `stride` apart, both multiples of four; `n` is at most `THREADS * ITEMS`. A thread has
                 its elements in `GROUPS`; at least `k` of all groups have some, and `ROOM` is for `k` elements and `CROWD` more.
    Cost:        a read of each element, an atomic addition in shared memory of some, and two of those that are written.
    Test:        tests/kernels/test_topk_registers.py
    """
    AHEAD: constexpr(int) = ITEMS // 4
    static_assert(AHEAD % GROUPS == 0, "groups are of whole vectors")
    row: int64 @ block[1] = id()
    with (
        partition(y, thread[1], offset=lambda i: i, races="none") as values,
        partition(indices, thread[1], offset=lambda i: i, races="none") as positions,
        partition(failed, thread[1], offset=lambda i: i, races="none") as marks, group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        base: int64 @ block[1] = row * stride
        vectors: int32 @ block[1] = n // 4
        items: float32[ITEMS] @ thread[1]  # of the smallest ones, negatives
        highest: float32 @ thread[1] = -bitcast(uint32(_INFINITY), float32)
        least: float32 @ thread[1] = bitcast(uint32(_INFINITY), float32)
        with group(thread[1]):
            for a in range(AHEAD):
                if a * THREADS + t < vectors:
                    word: vector(uint32, 4) = load_vector(x[base + int64(a * THREADS + t) * 4], 4)
                    for w in range(4):
                        one: float32 = bitcast(word[w], float32)
                        items[a * 4 + w] = one if LARGEST else -one
                else:
                    for w in range(4):
                        items[a * 4 + w] = bitcast(uint32(_NAN), float32)  # compared with nothing
            for g in range(GROUPS):
                best: float32 = -bitcast(uint32(_INFINITY), float32)
                for e in range(ITEMS // GROUPS):
                    one: float32 = items[g * (ITEMS // GROUPS) + e]
                    best = one if one > best else best
                highest = max(highest, best)
                if g * (AHEAD // GROUPS) * THREADS + t < vectors:
                    least = min(least, best)
        first: float32 @ block[1] = block.reduce(highest, OP=operators.maximum)
        last: float32 @ block[1] = block.reduce(least, OP=operators.minimum)
        counts: shared(int32[BINS])
        starts: shared(int32[BINS])
        found: shared(int32[2])
        held: shared(Narrow[ROOM])
        done: bool @ block[1] = False
        if first - last > 1e-30 and first - last < 1e38:
            scale: float32 @ block[1] = BINS / (first - last)
            block.fill(counts, 0, BINS)
            block.fill(found, 0, 2)
            with group(thread[1]):
                for e in range(ITEMS):
                    if items[e] >= last:
                        atomic_add(counts[part_before(items[e], first, scale, BINS=BINS)], 1, scope="block")
            crowded: bool @ block[1] = find_parts(counts, starts, found, k, BINS=BINS, THREADS=THREADS)
            many: int32 @ block[1] = found[1]
            if not crowded and many >= k and many <= ROOM:
                done = True
                until: int32 @ block[1] = found[0]
                with partition(held, thread[1], offset=lambda s: s, races="none") as slots, group(thread[1]):
                    for e in range(ITEMS):
                        if items[e] >= last:
                            part: int32 = part_before(items[e], first, scale, BINS=BINS)
                            if part <= until:
                                bits: uint32 = bitcast(items[e] if LARGEST else -items[e], uint32)
                                key: uint32 = key_of(bits, U=uint32, KIND=FLOAT, INFINITY=_INFINITY, LARGEST=LARGEST)
                                slot: int32 = atomic_add(starts[part], 1, scope="block")
                                slots[slot] = Narrow(key, uint32((e // 4 * THREADS + t) * 4 + e % 4))
                with group(thread[1]):
                    for s in range(t, many, THREADS):
                        mine: Narrow = held[s]
                        value: float32 = bitcast(value_of(mine.key, B=uint32, KIND=FLOAT, LARGEST=LARGEST), float32)
                        part: int32 = part_before(value if LARGEST else -value, first, scale, BINS=BINS)
                        end: int32 = starts[part]  # of those that are put there the last one's place, and one more
                        rank: int32 = end - counts[part]
                        for other in range(rank, end):
                            if stands_before(held[other], mine):
                                rank = rank + 1
                        if rank < k:
                            values[row * k + rank] = x[base + int64(mine.place)]
                            positions[row * k + rank] = int64(mine.place)
        with group(thread[1]):
            if t == 0:
                marks[row] = 0 if done else 1


EXAMPLES = {
    "top_held": {"LARGEST": True, "GROUPS": 1, "ITEMS": 32, "BINS": 2048, "ROOM": 320, "THREADS": 256, "BLOCKS": 4},
}
