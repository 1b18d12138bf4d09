"""A block merges two sorted runs, through shared memory."""

from prism.lang import (
    block, const, constexpr, count, dtype, function, group, id, int32, partition, prism, ptr, requires, shared, static_assert,
    template, thread,
)


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def merge(
    a: ptr(const(T)) @ block[1], size_a: int32 @ block[1], b: ptr(const(T)) @ block[1], size_b: int32 @ block[1],
    items: T[ITEMS] @ thread[1], otherwise: T @ thread[1],
):
    """Put the merge of two sorted runs into the block's registers; places from `size_a + size_b` on become `otherwise`.

    Perspective: block, of `THREADS` threads.
    Shapes:      `a`: `size_a` elements, `b`: `size_b`, each sorted by `LESS`. `items`: blocked, place `t * ITEMS + k` in thread
                 `t`; the runs are not longer than that together. Of equal elements those of `a` come first.
    Cost:        `ITEMS` coalesced reads a thread, then a merge path and `ITEMS + 1` reads of shared memory; two barriers.
                 `THREADS * ITEMS` elements of shared memory. Threads meet in few banks where `ITEMS` is odd.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=t) as own:
        with group(thread[1]):
            for k in range(ITEMS):  # all are under way before the first is stored
                place: int32 = k * THREADS + t
                items[k] = otherwise
                if place < size_a:
                    items[k] = a[place]
                elif place < size_a + size_b:
                    items[k] = b[place - size_a]
            for k in range(ITEMS):
                own[k * THREADS] = items[k]
    with group(thread[1]):
        merge_within(tile, 0, size_a, size_a + size_b, t * ITEMS, items, otherwise, LESS=LESS)


@prism("device")
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), LESS=function)
def merge_within(
    tile: ptr(const(T)) @ thread[1], first: int32 @ thread[1], middle: int32 @ thread[1], end: int32 @ thread[1],
    place: int32 @ thread[1], items: T[ITEMS] @ thread[1], otherwise: T @ thread[1],
):
    """Put into `items` what stands from `place` on in the merge of `tile[first:middle]` and `tile[middle:end]`; then `otherwise`."""
    diagonal: int32 = min(place, end - first)
    i: int32 = first + merge_path_within(tile, first, middle, end, diagonal, LESS=LESS)
    j: int32 = middle + diagonal - (i - first)
    left: T = otherwise
    right: T = otherwise
    if i < middle:
        left = tile[i]
    if j < end:
        right = tile[j]
    for k in range(ITEMS):
        second: bool = i >= middle or (j < end and LESS(right, left))
        items[k] = right if second else left
        i = i if second else i + 1
        j = j + 1 if second else j
        if second:
            right = tile[j] if j < end else otherwise
        else:
            left = tile[i] if i < middle else otherwise


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
