"""A block sorts a tile by the bits of its elements."""

from prism.lang import block, constexpr, count, dtype, function, group, int32, prism, requires, static_assert, template, thread


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), KEY=function, FIRST=constexpr(int), LAST=constexpr(int))
def radix_sort(items: T[ITEMS] @ thread[1]):
    """Sort the tile in place by bits `FIRST ... LAST - 1` of `KEY` of its elements; equal ones keep their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. `KEY` gives an unsigned integer in whose order the
                 elements are to stand: `operators.bits_of_int32`, or one of your own, as one that complements them for a
                 descending order.
    Cost:        a `block.radix_rank` and a `block.scatter_to_blocked` for each 4 bits: five barriers.
    Source:      Satish, Harris and Garland, "Designing efficient sorting algorithms for manycore GPUs".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(0 <= FIRST <= LAST <= 64, "bits `FIRST ... LAST - 1` are of a key")
    digits: int32[ITEMS] @ thread[1]
    ranks: int32[ITEMS] @ thread[1]
    for first in range(FIRST, LAST, 4):
        with group(thread[1]):
            for k in range(ITEMS):
                digits[k] = int32(KEY(items[k]) >> first) & ((1 << min(4, LAST - first)) - 1)
        block.radix_rank(digits, ranks, THREADS=THREADS, BITS=4)
        block.scatter_to_blocked(items, ranks, THREADS * ITEMS, THREADS=THREADS)
