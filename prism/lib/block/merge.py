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
    load_runs(a, size_a, b, size_b, items, otherwise, tile, THREADS=THREADS)
    places: int32[ITEMS] @ thread[1]
    with group(thread[1]):
        merge_within(tile, size_a, size_a + size_b, t * ITEMS, items, places, otherwise, SIZE=THREADS * ITEMS, LESS=LESS)


@prism("device")
@requires(block[1], thread[1])
@template(K=dtype, T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def merge_pairs(
    a: ptr(const(K)) @ block[1], a_items: ptr(const(T)) @ block[1], size_a: int32 @ block[1], b: ptr(const(K)) @ block[1],
    b_items: ptr(const(T)) @ block[1], size_b: int32 @ block[1], keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1],
    otherwise: K @ thread[1], nothing: T @ thread[1],
):
    """Put the merge of two sorted runs of keys into the block's registers, and beside each key its item.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `block.merge`; `a_items`, `b_items`: as many as keys. Places from `size_a + size_b` on become `otherwise`
                 and `nothing`.
    Cost:        that of `block.merge`, and for items a read of global and of shared memory each; four barriers.
                 `THREADS * ITEMS` keys and as many items of shared memory.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    tile: shared(K[THREADS * ITEMS]) @ block[1]
    values: shared(T[THREADS * ITEMS]) @ block[1]
    load_runs(a, size_a, b, size_b, keys, otherwise, tile, THREADS=THREADS)
    load_runs(a_items, size_a, b_items, size_b, items, nothing, values, THREADS=THREADS)
    places: int32[ITEMS] @ thread[1]
    with group(thread[1]):
        merge_within(tile, size_a, size_a + size_b, t * ITEMS, keys, places, otherwise, SIZE=THREADS * ITEMS, LESS=LESS)
        for k in range(ITEMS):
            items[k] = values[places[k]] if t * ITEMS + k < size_a + size_b else nothing


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def load_runs(
    a: ptr(const(T)) @ block[1], size_a: int32 @ block[1], b: ptr(const(T)) @ block[1], size_b: int32 @ block[1],
    items: T[ITEMS] @ thread[1], otherwise: T @ thread[1], tile: ptr(T) @ block[1],
):
    """Put two runs, one behind the other, into `tile`, and then `otherwise`, by way of the registers of `items`."""
    t: int32 @ thread[1] = id()
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


@prism("device")
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function)
def merge_within(
    tile: ptr(const(T)) @ thread[1], middle: int32 @ thread[1], end: int32 @ thread[1], place: int32 @ thread[1],
    items: T[ITEMS] @ thread[1], places: int32[ITEMS] @ thread[1], otherwise: T @ thread[1],
):
    """Put into `items` what stands from `place` on in the merge of `tile[:middle]` and `tile[middle:end]`, then `otherwise`.

    `places`: where in the tile, of `SIZE` elements, they are.
    """
    diagonal: int32 = min(place, end)
    i: int32 = merge_path_within(tile, 0, middle, end, diagonal, LESS=LESS)
    j: int32 = middle + diagonal - i
    left: T = tile[min(i, SIZE - 1)]  # what is read beyond a run is never taken
    right: T = tile[min(j, SIZE - 1)]
    for k in range(ITEMS):
        second: bool = i >= middle or (j < end and LESS(right, left))
        items[k] = right if second else left
        places[k] = j if second else i
        i = i if second else i + 1
        j = j + 1 if second else j
        loaded: T = tile[min(j if second else i, SIZE - 1)]
        right = loaded if second else right
        left = left if second else loaded
    if end - place < ITEMS:
        for k in range(ITEMS):
            if place + k >= end:
                items[k] = otherwise


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
