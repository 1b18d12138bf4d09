"""A block ranks the elements of a tile, and finds the element of some rank."""

from prism.lang import (
    atomic_add, ballot, block, broadcast, constexpr, count, dtype, first_set, function, group, id, int32, partition, prism,
    requires, shared, static_assert, template, thread, uint32, warp,
)
from prism.lib.thread import operators


@prism("device")
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), THREADS=constexpr(int), BITS=constexpr(int))
def radix_rank(digits: int32[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1]):
    """Say in `ranks` where each element stands once the tile is sorted by its digit; equal ones keep their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in thread `t`; a digit is in `0 ... 2^BITS - 1`.
    Cost:        three barriers; `THREADS * 2^BITS` words of shared memory.
    Source:      Satish, Harris and Garland, "Designing efficient sorting algorithms for manycore GPUs".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(1 <= BITS <= 8, "a digit has 1 to 8 bits")
    DIGITS: constexpr(int) = 1 << BITS
    t: int32 @ thread[1] = id()
    counts: shared(int32[THREADS * DIGITS]) @ block[1]  # digit by digit, and in each thread by thread
    with partition(counts, thread[1], offset=t) as own:
        with group(thread[1]):
            for d in range(DIGITS):
                own[d * THREADS] = 0
            for k in range(ITEMS):
                ranks[k] = own[digits[k] * THREADS]  # how many this thread has had before
                own[digits[k] * THREADS] = ranks[k] + 1
    places: int32[DIGITS] @ thread[1]
    with group(thread[1]):
        for d in range(DIGITS):
            places[d] = counts[t * DIGITS + d]
    block.scan(places, 0, WIDTH=DIGITS, OP=operators.add, EXCLUSIVE=True)
    with partition(counts, thread[1], offset=t * DIGITS) as run:
        with group(thread[1]):
            for d in range(DIGITS):
                run[d] = places[d]
    with group(thread[1]):
        for k in range(ITEMS):
            ranks[k] = ranks[k] + counts[digits[k] * THREADS + t]


@prism("device")
@requires(block[1], thread[32])
@template(N=dtype, U=dtype, KEY=function, COUNTS=function, BITS=constexpr(int), THREADS=constexpr(int))
def select_rank(n: N @ block[1], rank: N @ block[1]) -> (U, N, N) @ block[1]:
    """The key of rank `rank`, from 0 on, of elements `0 ... n - 1`; how many keys are less, and how many are equal to it.

    Digits of 8 bits are counted from the highest on, of the elements whose digits so far are those of the key that is looked for.

    Perspective: block, of `THREADS` threads.
    Shapes:      `KEY(i)` gives element `i`'s key, an unsigned integer `U` below `2^BITS`, and `COUNTS(i)` whether it is one of
                 those that are ranked: functions of a thread, of an `N`: int32 or int64. Of the ranked ones there are more than
                 `rank`, and fewer than 2^32. `BITS`: a multiple of 8.
    Cost:        of each 8 bits, `n / THREADS` calls of both functions a thread, as many atomic additions in shared memory at
                 most, a scan of a warp and two barriers; and two more. 256 words of shared memory for each 8 bits, and 8.
    Source:      Alabi, Blanchard et al., "Fast k-selection algorithms for graphics processing units".
    Test:        tests/lib/block/test_select.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(BITS % 8 == 0 and BITS <= 8 * U.bytes, "a key has whole digits")
    PASSES: constexpr(int) = BITS // 8
    t: int32 @ thread[1] = id()
    lane: int32 @ thread[1] = t % 32
    bins: shared(uint32[256 * PASSES]) @ block[1]
    key: shared(U[1]) @ block[1]
    numbers: shared(N[2]) @ block[1]
    prefix: U @ thread[32] = 0  # each warp finds the same: so none waits for another one
    below: N @ thread[32] = 0
    equal: N @ thread[32] = n
    block.fill(bins, 0, 256 * PASSES)
    for step in range(PASSES, unroll=False):
        shift: U @ block[1] = U(BITS - 8 - 8 * step)
        with group(thread[1]):
            for first in range(N(t), n, 4 * THREADS):
                ones: U[4]
                counts_too: bool[4]
                for a in range(4):  # all are read before any is counted
                    counts_too[a] = False
                    if first + a * THREADS < n:
                        counts_too[a] = COUNTS(first + a * THREADS)
                        ones[a] = KEY(first + a * THREADS)
                for a in range(4):
                    if counts_too[a] and ones[a] >> shift >> U(8) == prefix:
                        digit: int32 = int32(ones[a] >> shift & U(255))  # lanes have eight each: every eighth lie side by side
                        atomic_add(bins[step * 256 + digit % 8 * 32 + digit / 8], 1, scope="block")
        with group(thread[32]):
            counts: uint32[8] @ thread[1]
            before: uint32[8] @ thread[1]
            with group(thread[1]):
                for j in range(8):
                    counts[j] = bins[step * 256 + j * 32 + lane]
                    before[j] = counts[j]
            warp.scan(before, 0, WIDTH=8, OP=operators.add, EXCLUSIVE=True)
            left: N @ thread[32] = rank - below
            digit: int32 @ thread[1] = -1
            less: uint32 @ thread[1] = 0
            many: uint32 @ thread[1] = 0
            with group(thread[1]):
                for j in range(8):
                    if N(before[j]) <= left < N(before[j]) + N(counts[j]):
                        digit = lane * 8 + j
                        less = before[j]
                        many = counts[j]
            here: int32 @ thread[32] = max(int32(first_set(ballot(digit >= 0))) - 1, 0)
            prefix = prefix << U(8) | U(broadcast(digit, here))
            below = below + N(broadcast(less, here))
            equal = N(broadcast(many, here))
    with partition(key, thread[1], offset=0, races="none") as cell, partition(numbers, thread[1], offset=0, races="none") as pair:
        with group(thread[1]):
            if t == 0:
                cell[0] = prefix
                pair[0] = below
                pair[1] = equal
    return key[0], numbers[0], numbers[1]


@prism("device")
@requires(block[1], thread[32])
@template(
    T=dtype, U=dtype, KEY=function, BITS=constexpr(int), ITEMS=constexpr(int), THREADS=constexpr(int),
)
def top_k(items: T[ITEMS] @ thread[1], k: int32 @ block[1]):
    """Put the `k` elements of the tile whose keys are the least close together, in their order; of equal ones the first.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + j` in `items[j]` of thread `t`. Afterwards number `j * THREADS + t` of the `k` is
                 in `items[j]` of thread `t`, and places behind them have what they had. `KEY` gives an unsigned integer `U` below
                 `2^BITS`, as for `block.radix_sort`: one that complements it for the largest. `k`: from 1 to `THREADS * ITEMS`.
                 `ITEMS`: at most 32.
    Cost:        `block.select_rank`, a `block.scan`, and `block.compact`; `THREADS * ITEMS` keys of shared memory more.
    Source:      Alabi, Blanchard et al., "Fast k-selection algorithms for graphics processing units".
    Test:        tests/lib/block/test_select.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    keys: shared(U[THREADS * ITEMS]) @ block[1]
    with partition(keys, thread[1], offset=t * ITEMS) as own, group(thread[1]):
        for j in range(ITEMS):
            own[j] = KEY(items[j])

    @requires(thread[1])
    def key_at(i: int32 @ thread[1]) -> U @ thread[1]:
        return keys[i]

    @requires(thread[1])
    def every(i: int32 @ thread[1]) -> bool @ thread[1]:
        return True

    bound: U @ block[1] = 0
    below: int32 @ block[1] = 0
    equal: int32 @ block[1] = 0
    bound, below, equal = select_rank(
        THREADS * ITEMS, k - 1, U=U, KEY=key_at, COUNTS=every, BITS=BITS, THREADS=THREADS,
    )
    ties: int32[ITEMS] @ thread[1]
    flags: uint32 @ thread[1] = 0
    with group(thread[1]):
        for j in range(ITEMS):
            ties[j] = 1 if KEY(items[j]) == bound else 0
    block.scan(ties, 0, WIDTH=ITEMS, OP=operators.add, EXCLUSIVE=True)
    with group(thread[1]):
        for j in range(ITEMS):
            key: U = KEY(items[j])
            taken: bool = key < bound or (key == bound and ties[j] < k - below)
            flags = flags | (uint32(1) << j if taken else uint32(0))
    block.compact(items, flags, WIDTH=ITEMS, THREADS=THREADS)
