"""A block sorts a tile by comparisons."""

from prism.lang import (
    block, const, constexpr, count, dtype, function, group, id, int32, partition, prism, ptr, requires, shared, static_assert,
    template, thread,
)


@prism("device")
@requires(thread[1])
@template(T=dtype, LESS=function)
def merge_path_within(
    tile: ptr(const(T)) @ thread[1], first: int32 @ thread[1], middle: int32 @ thread[1], end: int32 @ thread[1],
    diagonal: int32 @ thread[1],
) -> int32 @ thread[1]:
    """How many of the first `diagonal` elements of the merge of `tile[first:middle]` and `tile[middle:end]` are of the former.

    As `thread.merge_path`, of two runs that lie side by side.
    """
    low: int32 = max(diagonal - (end - middle), 0)
    high: int32 = min(diagonal, middle - first)
    while low < high:
        half: int32 = (low + high) / 2
        left: T = tile[first + half]
        right: T = tile[middle + diagonal - 1 - half]
        if LESS(right, left):
            high = half
        else:
            low = half + 1
    return low


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
