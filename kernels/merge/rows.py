"""Two sorted runs in shared memory merged by rows, one a thread, in registers: no two threads of a warp meet in a bank.

A region of shared memory has rows of `ITEMS` elements, and a place free behind each. The first run rises from the region's
beginning on, the second falls to its end. What a thread puts together of both, a row of the result, then lies in places that are
all different modulo `ITEMS`. It takes them in the order of these remainders: they rise, and fall, or the other way round, so a
bitonic network sorts them. The lanes of a warp read as many different rows at a time.
"""

from prism.lang import (
    block, const, constexpr, dtype, function, group, id, int32, partition, prism, ptr, requires, shared, template, thread,
)


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), LESS=function)
def path_in_rows(
    tile: ptr(const(T)) @ thread[1], base: int32 @ thread[1], rows: int32 @ thread[1], row: int32 @ thread[1],
    size_a: int32 @ thread[1], size_b: int32 @ thread[1],
) -> int32 @ thread[1]:
    """How many elements of the first run stand before row `row` of the result, of a region of `rows` from row `base` on."""
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    diagonal: int32 = min(row * ITEMS, size_a + size_b)
    low: int32 = max(diagonal - size_b, 0)
    high: int32 = min(diagonal, size_a)
    across: int32 = (rows - row) * (ITEMS + 1)  # from an element to the one that it is compared with
    while low < high:
        half: int32 = low + high >> 1
        spot: int32 = base * (ITEMS + 1) + half + (half >> SHIFT)
        left: T = tile[spot]
        right: T = tile[spot + across]
        if LESS(right, left):
            high = half
        else:
            low = half + 1
    return low


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), WHOLE=constexpr(bool), LESS=function)
def merge_row(
    tile: ptr(const(T)) @ thread[1], base: int32 @ thread[1], rows: int32 @ thread[1],
    row: int32 @ thread[1], size_a: int32 @ thread[1], size_b: int32 @ thread[1], begin: int32 @ thread[1],
    until: int32 @ thread[1], items: T[ITEMS] @ thread[1],
):
    """Put row `row` of the result into `items`: elements `begin` to `until` of the first run, and those of the second.

    Of a row that is not whole the rest becomes what is last of all; of one behind the result nothing is touched. `WHOLE`: no row
    is such.
    """
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    ROW: constexpr(int) = ITEMS + 1
    size: int32 = size_a + size_b
    if WHOLE or row * ITEMS < size:
        corner: int32 = begin & ITEMS - 1  # the remainder of the first one
        end: int32 = until - (begin - corner)
        start: int32 = (base + (begin >> SHIFT)) * ROW
        across: int32 = (rows - row - 1) * ROW
        wraps: bool = end > ITEMS
        # Three stretches of remainders: each lies in one row.
        first: int32 = end - ITEMS if wraps else corner
        second: int32 = corner if wraps else end
        one: int32 = start + ROW if wraps else start + ROW + across
        two: int32 = start + ROW + across if wraps else start
        three: int32 = start if wraps else start + across
        if WHOLE or size - row * ITEMS >= ITEMS:
            for k in range(ITEMS):
                at: int32 = one if k < first else two if k < second else three
                items[k] = tile[at + k]
        else:  # both runs end here
            lowest: int32 = base * ROW + (rows * ITEMS - size_b) + (rows * ITEMS - size_b >> SHIFT)
            last: int32 = lowest
            if size_a > 0:
                highest: int32 = base * ROW + (size_a - 1) + (size_a - 1 >> SHIFT)
                if size_b == 0:
                    last = highest
                else:
                    left: T = tile[highest]
                    right: T = tile[lowest]
                    if LESS(right, left):
                        last = highest
            for k in range(ITEMS):
                at: int32 = one if k < first else two if k < second else three
                between: bool = first <= k and k < second
                there: bool = between != wraps or at + k >= lowest
                items[k] = tile[at + k if there else last]
        thread.merge_bitonic(items, ITEMS, LESS=LESS)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), WHOLE=constexpr(bool), LESS=function)
def merge_rows(
    tile: ptr(const(T)) @ block[1], base: int32 @ thread[1], rows: int32 @ thread[1],
    size_a: int32 @ thread[1], size_b: int32 @ thread[1], items: T[ITEMS] @ thread[1],
):
    """Merge the two runs of each region of a tile: thread `t` puts together row `t - base` of the result of its region.

    Perspective: block, of `THREADS` threads.
    Shapes:      a thread's region: `rows` rows of `ITEMS` elements, 8, 16 or 32, and a place behind each, from row `base` on;
                 `size_a` elements rise from its beginning, `size_b` fall to its end. `LESS` is their order; elements of
                 which neither is less are the same in all bits. `WHOLE`: the runs fill their regions.
    Cost:        a merge path and `ITEMS` reads of shared memory a thread, `log2(ITEMS) / 2` comparisons an element; a barrier.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple"; Berney and Sitchinava, "Eliminating bank
                 conflicts in GPU mergesort"; Batcher, "Sorting networks and their applications".
    Test:        tests/kernels/test_merge.py
    """
    t: int32 @ thread[1] = id()
    cuts: shared(int32[THREADS]) @ block[1]
    with partition(cuts, thread[1], offset=t) as own, group(thread[1]):
        own[0] = path_in_rows(tile, base, rows, t - base, size_a, size_b, ITEMS=ITEMS, LESS=LESS)
    with group(thread[1]):
        until: int32 = size_a if t - base == rows - 1 else cuts[min(t + 1, THREADS - 1)]
        merge_row(
            tile, base, rows, t - base, size_a, size_b, cuts[t], until, items, ITEMS=ITEMS, WHOLE=WHOLE, LESS=LESS,
        )


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def load_two(
    a: ptr(const(T)) @ block[1], size_a: int32 @ block[1], b: ptr(const(T)) @ block[1], size_b: int32 @ block[1],
    tile: ptr(T) @ block[1], otherwise: T @ block[1],
):
    """Put two runs into the rows of a tile: the first rises from its beginning on, the second falls to its end.

    Perspective: block, of `THREADS` threads.
    Shapes:      the runs are not longer than the tile together. What is between them becomes an element that none is behind, so
                 that it prolongs the first; `otherwise`, where there is none.
    Cost:        a read of each element: all of a whole tile are under way at once.
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    STEP: constexpr(int) = THREADS + THREADS // ITEMS
    t: int32 @ thread[1] = id()
    if size_a + size_b == TILE:
        held: T[ITEMS] @ thread[1]
        with partition(tile, thread[1], offset=t + t // ITEMS) as own, group(thread[1]):
            for k in range(ITEMS):
                if k * THREADS < size_a - t:
                    held[k] = a[k * THREADS + t]
                if k * THREADS >= TILE - size_b - t:  # and not `else`: one load of either place takes more instructions
                    held[k] = b[TILE - 1 - t - k * THREADS]
            for k in range(ITEMS):
                own[k * STEP] = held[k]
    else:
        last: T @ block[1] = otherwise
        if size_a > 0:
            last = a[size_a - 1]
        if size_b > 0:
            final: T @ block[1] = b[size_b - 1]
            if size_a == 0 or LESS(last, final):
                last = final
        with partition(tile, thread[1], offset=lambda i: i, races="none") as own, group(thread[1]):
            for i in range(t, TILE, THREADS):
                one: T = last
                if i < size_a:
                    one = a[i]
                elif i >= TILE - size_b:
                    one = b[TILE - 1 - i]
                own[i + i // ITEMS] = one


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, N=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def load_four(
    x: ptr(const(T)) @ block[1], firsts: N[4] @ block[1], sizes: int32[4] @ block[1], top: int32 @ block[1],
    tile: ptr(T) @ block[1],
):
    """Put two pairs of runs into the rows of a tile: the first of a pair rises, the second falls.

    Perspective: block, of `THREADS` threads.
    Shapes:      run `r`: `sizes[r]` elements from `x[firsts[r]]` on. The first pair has rows 0 to `top`, the second those behind,
                 up to `THREADS`.
    Cost:        a read of each element: all are under way at once.
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    STEP: constexpr(int) = THREADS + THREADS // ITEMS
    t: int32 @ thread[1] = id()
    held: T[ITEMS] @ thread[1]
    edge: int32 @ block[1] = top * ITEMS
    with partition(tile, thread[1], offset=t + t // ITEMS) as own, group(thread[1]):
        risen: N = firsts[0] + t
        fallen: N = firsts[1] + (edge - 1 - t)
        risen_later: N = firsts[2] + (t - edge)
        fallen_later: N = firsts[3] + (TILE - 1 - t)
        for k in range(ITEMS):
            later: bool = k * THREADS >= edge - t
            rises: bool = k * THREADS < (edge + sizes[2] if later else sizes[0]) - t
            place: N = risen_later if later else risen
            back: N = fallen_later if later else fallen
            at: N = place + k * THREADS if rises else back - k * THREADS
            if rises or k * THREADS >= (TILE - sizes[3] if later else edge - sizes[1]) - t:
                held[k] = x[at]
        for k in range(ITEMS):
            later: bool = k * THREADS >= edge - t
            rises: bool = k * THREADS < (edge + sizes[2] if later else sizes[0]) - t
            if rises or k * THREADS >= (TILE - sizes[3] if later else edge - sizes[1]) - t:
                own[k * STEP] = held[k]


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int))
def store_rows(tile: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], row: int32 @ thread[1], falls: bool @ thread[1]):
    """Put each thread's elements into its row of a tile, which no other thread has; or, where they fall, the last one first."""
    with partition(tile, thread[1], offset=lambda i: row * (ITEMS + 1) + i, races="none") as own, group(thread[1]):
        if falls:
            for k in range(ITEMS):
                own[ITEMS - 1 - k] = items[k]
        else:
            for k in range(ITEMS):
                own[k] = items[k]


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, N=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def merge_four(
    x: ptr(const(T)) @ block[1], firsts: N[4] @ block[1], sizes: int32[4] @ block[1], tile: ptr(T) @ block[1],
    items: T[ITEMS] @ thread[1],
):
    """Merge four sorted runs: row `t` of the result into the registers of thread `t`.

    Perspective: block, of `THREADS` threads.
    Shapes:      run `r`: `sizes[r]` elements from `x[firsts[r]]` on, together at most `(THREADS - 1) * ITEMS`. `tile`: `THREADS`
                 rows of `ITEMS + 1`. `LESS`: as of `merge_rows`.
    Cost:        a read of each element, and two of `merge_rows`.
    Test:        tests/kernels/test_merge.py
    """
    t: int32 @ thread[1] = id()
    top: int32 @ block[1] = (sizes[0] + sizes[1] + (ITEMS - 1)) // ITEMS  # rows of the first two
    load_four(x, firsts, sizes, top, tile, ITEMS=ITEMS, THREADS=THREADS)
    lower: bool @ thread[1] = t >= top
    merge_rows(
        tile, top if lower else 0, THREADS - top if lower else top, sizes[2] if lower else sizes[0],
        sizes[3] if lower else sizes[1], items, ITEMS=ITEMS, THREADS=THREADS, WHOLE=False, LESS=LESS,
    )
    store_rows(tile, items, THREADS - 1 - (t - top) if lower else t, lower, ITEMS=ITEMS)
    merge_rows(
        tile, 0, THREADS, sizes[0] + sizes[1], sizes[2] + sizes[3], items, ITEMS=ITEMS, THREADS=THREADS, WHOLE=False,
        LESS=LESS,
    )


__all__ = ["load_two", "merge_four", "merge_rows", "store_rows"]
