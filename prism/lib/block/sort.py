"""A block sorts a tile, and merges sorted runs."""

from prism.lang import (
    block, const, constexpr, count, dtype, function, group, id, int32, partition, prism, ptr, requires, shared, static_assert,
    template, thread, warp,
)


@prism.device
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
    Errors:      of runs that are not sorted some elements may come twice, and others not at all; nothing else is touched.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    load_runs(a, size_a, b, size_b, items, otherwise, THREADS=THREADS)
    with partition(tile, thread[1], offset=t) as own, group(thread[1]):
        for k in range(ITEMS):
            own[k * THREADS] = items[k]
    places: int32[ITEMS] @ thread[1]
    with group(thread[1]):
        merge_within(
            tile, 0, size_a, size_a + size_b, t * ITEMS, items, places, otherwise, False, SIZE=THREADS * ITEMS, LESS=LESS,
        )


@prism.device
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
    load_runs(a, size_a, b, size_b, keys, otherwise, THREADS=THREADS)
    load_runs(a_items, size_a, b_items, size_b, items, nothing, THREADS=THREADS)  # under way while keys are merged
    with partition(tile, thread[1], offset=t) as own, group(thread[1]):
        for k in range(ITEMS):
            own[k * THREADS] = keys[k]
    places: int32[ITEMS] @ thread[1]
    with group(thread[1]):
        merge_within(
            tile, 0, size_a, size_a + size_b, t * ITEMS, keys, places, otherwise, False, SIZE=THREADS * ITEMS, LESS=LESS,
        )
    with partition(values, thread[1], offset=t) as own, group(thread[1]):
        for k in range(ITEMS):
            own[k * THREADS] = items[k]
    with group(thread[1]):
        if t * ITEMS + ITEMS <= size_a + size_b:
            for k in range(ITEMS):
                items[k] = values[places[k]]
        else:
            for k in range(ITEMS):
                items[k] = values[places[k]] if t * ITEMS + k < size_a + size_b else nothing


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def load_runs(
    a: ptr(const(T)) @ block[1], size_a: int32 @ block[1], b: ptr(const(T)) @ block[1], size_b: int32 @ block[1],
    items: T[ITEMS] @ thread[1], otherwise: T @ thread[1],
):
    """Put two runs, one behind the other, into striped registers, and then `otherwise`: all reads are under way at once."""
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        if size_a + size_b < THREADS * ITEMS:
            for k in range(ITEMS):
                items[k] = otherwise
        for k in range(ITEMS):
            if k * THREADS < size_a - t:
                items[k] = a[k * THREADS + t]
        for k in range(ITEMS):
            if k * THREADS >= size_a - t and k * THREADS < size_a + size_b - t:
                items[k] = b[k * THREADS + t - size_a]


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function, WHOLE=constexpr(bool, default=False))
def merge_within(
    tile: ptr(const(T)) @ thread[1], first: int32 @ thread[1], middle: int32 @ thread[1], end: int32 @ thread[1],
    place: int32 @ thread[1], items: T[ITEMS] @ thread[1], places: int32[ITEMS] @ thread[1], otherwise: T @ thread[1],
    short: bool @ thread[1],
):
    """Put into `items` what stands from `place` on in the merge of `tile[first:middle]` and `tile[middle:end]`, then `otherwise`.

    `places`: where in the tile, of `SIZE` elements, they are. `short`: runs end in most warps, so that all lanes look for ends:
    else a warp goes both ways, one after the other. `WHOLE`: there are as many as `items`.
    """
    diagonal: int32 = min(place, end - first)
    i: int32 = first + merge_path_within(tile, first, middle, end, diagonal, LESS=LESS)
    j: int32 = middle + diagonal - (i - first)
    left: T = tile[min(i, SIZE - 1)]  # what is read beyond a run is never taken
    right: T = tile[min(j, SIZE - 1)]
    both: int32 = i + j  # what is taken from one run is not taken from the other
    if not short and i + ITEMS < middle and j + ITEMS < end:  # neither run ends here
        for k in range(ITEMS):
            second: bool = LESS(right, left)
            items[k] = right if second else left
            places[k] = both + k - i if second else i
            i = i if second else i + 1
            loaded: T = tile[both + k + 1 - i if second else i]
            right = loaded if second else right
            left = left if second else loaded
    else:
        for k in range(ITEMS):
            less: bool = LESS(right, left)
            second: bool = i >= middle or (j < end and less)
            items[k] = right if second else left
            places[k] = j if second else i
            i = i if second else i + 1
            j = j + 1 if second else j
            loaded: T = tile[min(j if second else i, SIZE - 1)]
            right = loaded if second else right
            left = left if second else loaded
    if not WHOLE:
        if end - first - place < ITEMS:
            for k in range(ITEMS):
                if place + k >= end - first:
                    items[k] = otherwise


@prism.device
@requires(thread[1])
@template(T=dtype, LESS=function)
def merge_path_within(
    tile: ptr(const(T)) @ thread[1], first: int32 @ thread[1], middle: int32 @ thread[1], end: int32 @ thread[1],
    diagonal: int32 @ thread[1],
) -> int32 @ thread[1]:
    """How many of the first `diagonal` elements of the merge of `tile[first:middle]` and `tile[middle:end]` are of the former.

    As `thread.merge_path`, of two runs that lie side by side.
    """
    low: int32 = first + max(diagonal - (end - middle), 0)
    high: int32 = first + min(diagonal, middle - first)
    across: int32 = first + middle + diagonal - 1  # from an element to the one that it is compared with
    while low < high:
        half: int32 = low + high >> 1
        left: T = tile[half]
        right: T = tile[across - half]
        if LESS(right, left):
            high = half
        else:
            low = half + 1
    return low - first


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function)
def merge_level(
    tile: ptr(const(T)) @ thread[1], number: int32 @ thread[1], width: int32 @ thread[1], items: T[ITEMS] @ thread[1],
    places: int32[ITEMS] @ thread[1], short: bool @ thread[1],
):
    """Merge two of the sorted runs in `tile` that `width` threads have each, a power of two: thread `number`'s part of both.

    `tile` has `SIZE` elements, `places` and `short`: as of `merge_within`.
    """
    pair: int32 = (number & -2 * width) * ITEMS  # where the two runs begin
    middle: int32 = min(pair + width * ITEMS, SIZE)
    end: int32 = min(pair + 2 * width * ITEMS, SIZE)
    merge_within(tile, pair, middle, end, number * ITEMS - pair, items, places, items[0], short, SIZE=SIZE, LESS=LESS, WHOLE=True)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def merge_sort(items: T[ITEMS] @ thread[1]):
    """Sort the tile in place, so that no element is `LESS` than the one before it; equal ones keep their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. A partial tile is filled up with what sorts last.
    Cost:        `thread.sort`, then `log2(THREADS)` merges, those of a warp without barriers, and the others with two each;
                 `THREADS * ITEMS` elements of shared memory.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    w: int32 @ thread[32] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    thread.sort(items, LESS=LESS)
    with partition(tile, thread[32], offset=w * (32 * ITEMS)) as part, group(thread[32]):
        lane: int32 @ thread[1] = id()
        run: int32 @ thread[32] = 1  # so many threads hold a sorted run together
        while run < 32:
            with partition(part, thread[1], offset=lane * ITEMS) as own, group(thread[1]):
                for k in range(ITEMS):
                    own[k] = items[k]
            with group(thread[1]):
                places: int32[ITEMS]
                merge_level(part, lane, run, items, places, True, SIZE=32 * ITEMS, LESS=LESS)
            run *= 2
    width: int32 @ block[1] = 32
    while width < THREADS:
        with partition(tile, thread[1], offset=t * ITEMS) as own, group(thread[1]):
            for k in range(ITEMS):
                own[k] = items[k]
        with group(thread[1]):
            places: int32[ITEMS]
            merge_level(tile, t, width, items, places, False, SIZE=THREADS * ITEMS, LESS=LESS)
        width *= 2


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def merge_sort_pairs(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1]):
    """Sort the tile by its keys, in place; each item goes where its key goes, and items of equal keys keep their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in `keys[k]`, `items[k]` of thread `t`. A partial tile is filled up with keys
                 that sort last.
    Cost:        `log2(THREADS)` merges, those of a warp without barriers, and the others with two each; `THREADS * ITEMS` keys
                 and items of shared memory.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    w: int32 @ thread[32] = id()
    tile: shared(K[THREADS * ITEMS]) @ block[1]
    values: shared(T[THREADS * ITEMS]) @ block[1]
    places: int32[ITEMS] @ thread[1]
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
    with (
        partition(tile, thread[32], offset=w * (32 * ITEMS)) as part,
        partition(values, thread[32], offset=w * (32 * ITEMS)) as beside, group(thread[32]),
    ):
        lane: int32 @ thread[1] = id()
        run: int32 @ thread[32] = 1  # so many threads hold a sorted run together
        while run < 32:
            with (
                partition(part, thread[1], offset=lane * ITEMS) as own,
                partition(beside, thread[1], offset=lane * ITEMS) as mine, group(thread[1]),
            ):
                for k in range(ITEMS):
                    own[k] = keys[k]
                    mine[k] = items[k]
            with group(thread[1]):
                merge_level(part, lane, run, keys, places, True, SIZE=32 * ITEMS, LESS=LESS)
                for k in range(ITEMS):
                    items[k] = beside[places[k]]
            run *= 2
    width: int32 @ block[1] = 32
    while width < THREADS:
        with (
            partition(tile, thread[1], offset=t * ITEMS) as own, partition(values, thread[1], offset=t * ITEMS) as mine,
            group(thread[1]),
        ):
            for k in range(ITEMS):
                own[k] = keys[k]
                mine[k] = items[k]
        with group(thread[1]):
            merge_level(tile, t, width, keys, places, False, SIZE=THREADS * ITEMS, LESS=LESS)
            for k in range(ITEMS):
                items[k] = values[places[k]]
        width *= 2


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), KEY=function, FIRST=constexpr(int), LAST=constexpr(int))
def radix_sort(items: T[ITEMS] @ thread[1]):
    """Sort the tile in place by bits `FIRST ... LAST - 1` of `KEY` of its elements; equal ones keep their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. `KEY` gives an unsigned integer in whose order the
                 elements are to stand: `operators.bits_of_int32`, or one of your own, as one that complements them for a
                 descending order.
    Cost:        a `block.radix_rank` and a scatter for each 8 bits: at most seven barriers. The tile is put row by row first.
    Source:      Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(0 <= FIRST <= LAST <= 64, "bits `FIRST ... LAST - 1` are of a key")
    if FIRST < LAST:
        PASSES: constexpr(int) = (LAST - FIRST + 7) // 8
        BITS: constexpr(int) = (LAST - FIRST + PASSES - 1) // PASSES  # of a digit; the last one may have fewer
        digits: int32[ITEMS] @ thread[1]
        ranks: int32[ITEMS] @ thread[1]
        block.blocked_to_warp_striped(items, THREADS=THREADS)
        for first in range(FIRST, LAST, BITS):
            with group(thread[1]):
                for k in range(ITEMS):
                    digits[k] = int32(KEY(items[k]) >> first) & ((1 << min(BITS, LAST - first)) - 1)
            block.radix_rank(digits, ranks, THREADS=THREADS, BITS=BITS, WIDTH=1)
            if first + BITS < LAST:
                block.scatter_to_warp_striped(items, ranks, THREADS * ITEMS, THREADS=THREADS)
            else:
                block.scatter_to_blocked(items, ranks, THREADS * ITEMS, THREADS=THREADS)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), KEY=function, FIRST=constexpr(int), LAST=constexpr(int)
)
def radix_sort_pairs(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1]):
    """Sort the tile by bits `FIRST ... LAST - 1` of `KEY` of its keys, in place; each item goes where its key goes.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in `keys[k]`, `items[k]` of thread `t`. `KEY` as for `block.radix_sort`;
                 items of equal keys keep their order.
    Cost:        a `block.radix_rank` and two scatters for each 8 bits: at most nine barriers. The tile is put row by row first.
    Source:      Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs".
    Test:        tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(0 <= FIRST <= LAST <= 64, "bits `FIRST ... LAST - 1` are of a key")
    if FIRST < LAST:
        PASSES: constexpr(int) = (LAST - FIRST + 7) // 8
        BITS: constexpr(int) = (LAST - FIRST + PASSES - 1) // PASSES  # of a digit; the last one may have fewer
        digits: int32[ITEMS] @ thread[1]
        ranks: int32[ITEMS] @ thread[1]
        block.blocked_to_warp_striped(keys, THREADS=THREADS)
        block.blocked_to_warp_striped(items, THREADS=THREADS)
        for first in range(FIRST, LAST, BITS):
            with group(thread[1]):
                for k in range(ITEMS):
                    digits[k] = int32(KEY(keys[k]) >> first) & ((1 << min(BITS, LAST - first)) - 1)
            block.radix_rank(digits, ranks, THREADS=THREADS, BITS=BITS, WIDTH=1)
            if first + BITS < LAST:
                block.scatter_to_warp_striped(keys, ranks, THREADS * ITEMS, THREADS=THREADS)
                block.scatter_to_warp_striped(items, ranks, THREADS * ITEMS, THREADS=THREADS)
            else:
                block.scatter_to_blocked(keys, ranks, THREADS * ITEMS, THREADS=THREADS)
                block.scatter_to_blocked(items, ranks, THREADS * ITEMS, THREADS=THREADS)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function, TOTAL=constexpr(bool))
def sort_network(items: T[ITEMS] @ thread[1]):
    """Sort the tile in place, so that no element is `LESS` than the one before it.

    Perspective: block, of `THREADS` threads; `THREADS`, at least 32, and `ITEMS` are powers of two.
    Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. A partial tile is filled up with what sorts last.
                 `TOTAL`: of two elements one is less, unless they are the same in all bits.
    Numerics:    not stable: equal elements come in any order, always the same. A position in the element, compared last, makes
                 it stable, and `TOTAL`.
    Cost:        with `e` elements, `log2(e) * (log2(e) + 1) / 2` comparisons an element: in registers, by shuffles among the
                 lanes of a warp, and `w * (w + 1) / 2` through shared memory among the `2^w` warps, with two barriers each.
                 `THREADS * ITEMS` elements of shared memory.
    Source:      Batcher, "Sorting networks and their applications".
    Test:        tests/lib/block/test_network.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(THREADS >= 32 and THREADS & -THREADS == THREADS, "`THREADS` is a power of two of at least 32")
    warp.sort(items, SIZE=32, LESS=LESS, TOTAL=TOTAL)
    width: int32 @ block[1] = 32  # so many threads hold a sorted run together
    while width < THREADS:
        exchange(items, 2 * width - 1, ITEMS - 1, THREADS=THREADS, LESS=LESS, TOTAL=TOTAL)
        far: int32 @ block[1] = width // 2
        while far >= 32:
            exchange(items, far, 0, THREADS=THREADS, LESS=LESS, TOTAL=TOTAL)
            far = far // 2
        warp.merge_bitonic(items, SIZE=32, LESS=LESS, TOTAL=TOTAL)
        width = 2 * width


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function, TOTAL=constexpr(bool))
def exchange(items: T[ITEMS] @ thread[1], mask: int32 @ block[1], flip: int32 @ block[1]):
    """Compare each element with item `k ^ flip` of the thread whose number differs by `mask`, and keep what belongs here."""
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=t) as own:
        with group(thread[1]):
            for k in range(ITEMS):
                own[k * THREADS] = items[k]
    with group(thread[1]):
        low: bool = t < t ^ mask
        for k in range(ITEMS):
            other: T = tile[(k ^ flip) * THREADS + (t ^ mask)]
            items[k] = thread.keep(items[k], other, low, LESS=LESS, TOTAL=TOTAL)
