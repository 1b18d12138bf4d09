"""A block ranks the elements of a tile."""

from prism.lang import (
    block, constexpr, count, group, id, int32, partition, prism, requires, shared, static_assert, template, thread,
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
