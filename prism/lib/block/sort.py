"""A block sorts a tile."""

from prism.lang import (
    block, constexpr, count, dtype, function, group, id, int32, partition, prism, requires, shared, static_assert, template,
    thread,
)
from prism.lib.block.merge import merge_path_within


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def merge_sort(items: T[ITEMS] @ thread[1]):
    """Sort the tile in place, so that no element is `LESS` than the one before it; equal ones keep their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. A partial tile is filled up with what sorts last.
    Cost:        `thread.sort`, then `log2(THREADS)` merges, with two barriers each; `THREADS * ITEMS` elements of shared memory.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    thread.sort(items, LESS=LESS)
    width: int32 @ block[1] = 1  # so many threads hold a sorted run together
    while width < THREADS:
        with partition(tile, thread[1], offset=t * ITEMS) as own:
            with group(thread[1]):
                for k in range(ITEMS):
                    own[k] = items[k]
        with group(thread[1]):
            pair: int32 = t / (2 * width) * (2 * width) * ITEMS  # where the two runs begin that this thread helps to merge
            middle: int32 = min(pair + width * ITEMS, THREADS * ITEMS)
            end: int32 = min(pair + 2 * width * ITEMS, THREADS * ITEMS)
            i: int32 = pair + merge_path_within(tile, pair, middle, end, t * ITEMS - pair, LESS=LESS)
            j: int32 = middle + t * ITEMS - i
            for k in range(ITEMS):
                second: bool = i >= middle
                if i < middle and j < end:
                    one: T = tile[i]
                    other: T = tile[j]
                    second = LESS(other, one)
                items[k] = tile[j] if second else tile[i]
                i = i if second else i + 1
                j = j + 1 if second else j
        width *= 2


@prism("device")
@requires(block[1], thread[1])
@template(K=dtype, T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def merge_sort_pairs(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1]):
    """Sort the tile by its keys, in place; each item goes where its key goes, and items of equal keys keep their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in `keys[k]`, `items[k]` of thread `t`. A partial tile is filled up with keys
                 that sort last.
    Cost:        `log2(THREADS)` merges, with two barriers each; `THREADS * ITEMS` keys and items of shared memory.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    tile: shared(K[THREADS * ITEMS]) @ block[1]
    values: shared(T[THREADS * ITEMS]) @ block[1]
    with group(thread[1]):
        for step in range(ITEMS):  # as thread.sort
            for k in range(step % 2, ITEMS - 1, 2):
                low_key: K = keys[k]
                high_key: K = keys[k + 1]
                low_item: T = items[k]
                swap: bool = LESS(high_key, low_key)
                keys[k] = high_key if swap else low_key
                keys[k + 1] = low_key if swap else high_key
                items[k] = items[k + 1] if swap else low_item
                items[k + 1] = low_item if swap else items[k + 1]
    width: int32 @ block[1] = 1  # so many threads hold a sorted run together
    while width < THREADS:
        with partition(tile, thread[1], offset=t * ITEMS) as own, partition(values, thread[1], offset=t * ITEMS) as mine:
            with group(thread[1]):
                for k in range(ITEMS):
                    own[k] = keys[k]
                    mine[k] = items[k]
        with group(thread[1]):
            pair: int32 = t / (2 * width) * (2 * width) * ITEMS  # where the two runs begin that this thread helps to merge
            middle: int32 = min(pair + width * ITEMS, THREADS * ITEMS)
            end: int32 = min(pair + 2 * width * ITEMS, THREADS * ITEMS)
            i: int32 = pair + merge_path_within(tile, pair, middle, end, t * ITEMS - pair, LESS=LESS)
            j: int32 = middle + t * ITEMS - i
            for k in range(ITEMS):
                second: bool = i >= middle
                if i < middle and j < end:
                    one: K = tile[i]
                    other: K = tile[j]
                    second = LESS(other, one)
                source: int32 = j if second else i
                keys[k] = tile[source]
                items[k] = values[source]
                i = i if second else i + 1
                j = j + 1 if second else j
        width *= 2


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


@prism("device")
@requires(block[1], thread[32])
@template(
    K=dtype, T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), KEY=function, FIRST=constexpr(int), LAST=constexpr(int)
)
def radix_sort_pairs(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1]):
    """Sort the tile by bits `FIRST ... LAST - 1` of `KEY` of its keys, in place; each item goes where its key goes.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in `keys[k]`, `items[k]` of thread `t`. `KEY` as for `block.radix_sort`;
                 items of equal keys keep their order.
    Cost:        a `block.radix_rank` and two `block.scatter_to_blocked` for each 4 bits: six barriers.
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
                digits[k] = int32(KEY(keys[k]) >> first) & ((1 << min(4, LAST - first)) - 1)
        block.radix_rank(digits, ranks, THREADS=THREADS, BITS=4)
        block.scatter_to_blocked(keys, ranks, THREADS * ITEMS, THREADS=THREADS)
        block.scatter_to_blocked(items, ranks, THREADS * ITEMS, THREADS=THREADS)
