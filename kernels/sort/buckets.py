"""Sorting what a block holds of keys that are random enough, in one step: by buckets of very few, compared within each.

A function says which bucket a word belongs to: a larger word belongs to no lower one. Buckets are counted, and their keys put
side by side; where in it a key belongs is found by comparing it with the others of its bucket. The order of the additions that
count them does not matter: equal words are the same.
"""

from prism.lang import (
    atomic_add, block, const, constexpr, dtype, function, group, id, int32, partition, prism, ptr, requires, static_assert,
    template, thread, uint32,
)
from prism.lib.thread import operators

LONGEST = 32
"""Words of a bucket that are compared with each other at most."""


@prism.device
@requires(thread[1])
@template(K=dtype, BUCKETS=constexpr(int))
def bucket_of(word: K @ thread[1], shift: int32 @ thread[1]) -> int32 @ thread[1]:
    """Which bucket a word belongs to."""
    return int32(word >> shift) & (1 << BUCKETS) - 1


@prism.device
@requires(thread[1])
def spread(bucket: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where a bucket stands in a table: every 32nd place is left out, so threads of as many buckets each meet in no bank."""
    return bucket + (bucket >> 5)


@prism.device
@template(
    K=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BUCKETS=constexpr(int), BATCH=constexpr(int), BUCKET=function,
)
@requires(block[1], thread["THREADS"])
def put_in_buckets(
    words: K[ITEMS] @ thread[1], table: ptr(uint32) @ block[1], sorted: ptr(K) @ block[1], mine: int32 @ thread[1],
) -> bool @ block[1]:
    """Put the first `mine` words of each thread into `sorted`, in the order of buckets: `BUCKET` says it, below `1 << BUCKETS`.

    `table`: of `(33 << BUCKETS - 5) + 1` words, all but the last 0; it becomes where each bucket begins, and the last one ends.
    Returns: whether a bucket has more than `LONGEST`; then nothing is put anywhere.
    """
    PLACES: constexpr(int) = 1 << BUCKETS
    EACH: constexpr(int) = PLACES // THREADS
    static_assert(1 <= EACH <= 32 and PLACES % THREADS == 0, "a thread adds up 1 to 32 buckets")
    FLAG: constexpr(int) = 1 << 20  # above all sums
    t: int32 @ thread[1] = id()
    ranks: uint32[(ITEMS + 3) // 4] @ thread[1]  # four a word
    sums: uint32[1] @ thread[1]
    with group(thread[1]):
        for j in range((ITEMS + 3) // 4):
            ranks[j] = 0
        for begin in range(0, ITEMS, BATCH):
            if begin < mine:
                some: uint32[BATCH]
                for k in range(BATCH):
                    if begin + k < mine:
                        some[k] = atomic_add(table[spread(BUCKET(words[begin + k]))], 1, scope="block")
                for k in range(BATCH):
                    if begin + k < mine:
                        ranks[(begin + k) // 4] = ranks[(begin + k) // 4] | (some[k] & 255) << 8 * ((begin + k) % 4)
    with group(thread[1]):
        sum: uint32 = 0
        for j in range(EACH):
            number: uint32 = table[spread(t * EACH) + j]
            sum = sum + number + (FLAG if number > LONGEST else 0)
        sums[0] = sum
    all: uint32 @ block[1] = block.scan(sums, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
    if all < FLAG:
        with partition(table, thread[1], offset=spread(t * EACH), races="none") as own, group(thread[1]):
            at: uint32 = sums[0]
            for j in range(EACH):
                number: uint32 = own[j]
                own[j] = at
                at = at + number
            if t == THREADS - 1:
                own[EACH + 1] = at  # one place is left out
        with partition(sorted, thread[1], offset=lambda place: place, races="none") as spot, group(thread[1]):
            for begin in range(0, ITEMS, BATCH):
                if begin < mine:
                    for k in range(BATCH):
                        if begin + k < mine:
                            first: uint32 = table[spread(BUCKET(words[begin + k]))]
                            rank: uint32 = ranks[(begin + k) // 4] >> 8 * ((begin + k) % 4) & 255
                            spot[int32(first + rank)] = words[begin + k]
    return all >= FLAG


@prism.device
@requires(thread[1])
@template(K=dtype, BATCH=constexpr(int), BUCKET=function)
def positions_in_buckets(
    table: ptr(const(uint32)) @ thread[1], sorted: ptr(const(K)) @ thread[1], words: K[BATCH] @ thread[1],
    positions: int32[BATCH] @ thread[1], me: int32 @ thread[1], step: int32 @ thread[1], many: int32 @ thread[1],
):
    """Load words `me`, `me + step` ... of `sorted`, below `many`, as `put_in_buckets` has left it; say where they belong.

    All of them are looked for at once: what one access takes, others wait for too. `positions` of what is not there are -1.
    """
    behind: int32[BATCH]
    own: int32[BATCH]
    longest: int32 = 0
    for k in range(BATCH):
        positions[k] = -1
        behind[k] = 0
        own[k] = me + k * step
        words[k] = sorted[own[k]] if own[k] < many else K(0)
    for k in range(BATCH):
        if own[k] < many:
            bucket: int32 = BUCKET(words[k])
            positions[k] = int32(table[spread(bucket)])
            behind[k] = int32(table[spread(bucket + 1)])
            longest = max(longest, behind[k] - positions[k])
    firsts: int32[BATCH]
    for k in range(BATCH):
        firsts[k] = max(positions[k], 0)
    for j in range(longest):
        for k in range(BATCH):
            other: int32 = firsts[k] + j
            there: K = sorted[min(other, max(behind[k] - 1, 0))]
            less: bool = there < words[k] or (there == words[k] and other < own[k])
            positions[k] = positions[k] + (1 if other < behind[k] and less else 0)
