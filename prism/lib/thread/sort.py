"""One thread sorts the elements in its registers."""

from prism.lang import constexpr, dtype, function, int32, prism, requires, static_assert, template, thread


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), LESS=function)
def sort(items: T[ITEMS] @ thread[1]):
    """Sort `items` in place, so that no element is `LESS` than the one before it; equal ones keep their order.

    Perspective: thread.
    Cost:        `ITEMS * (ITEMS - 1) / 2` comparisons; no barrier.
    Source:      Habermann, "Parallel neighbor sort": odd-even transposition.
    Test:        tests/lib/block/test_sort.py
    """
    for step in range(ITEMS):
        for k in range(step % 2, ITEMS - 1, 2):
            low: T = items[k]
            high: T = items[k + 1]
            if LESS(high, low):
                items[k] = high
                items[k + 1] = low


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), LESS=function)
def sort_network(items: T[ITEMS] @ thread[1]):
    """Sort `items` in place, so that no element is `LESS` than the one before it; not stable.

    Perspective: thread.
    Shapes:      `ITEMS` is a power of two.
    Cost:        `log2(ITEMS) * (log2(ITEMS) + 1) / 4` comparisons an element; no barrier.
    Source:      Batcher, "Sorting networks and their applications".
    Test:        tests/lib/warp/test_sort.py
    """
    static_assert(ITEMS & -ITEMS == ITEMS, "`ITEMS` is a power of two")
    for step in range(1, 7):
        if 1 << step <= ITEMS:
            for k in range(ITEMS):
                if k ^ ((1 << step) - 1) > k:  # the mirror image, in a run of 2^step
                    a: T = items[k]
                    b: T = items[k ^ ((1 << step) - 1)]
                    items[k] = b if LESS(b, a) else a
                    items[k ^ ((1 << step) - 1)] = a if LESS(b, a) else b
            merge_bitonic(items, 1 << (step - 1), LESS=LESS)


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), LESS=function)
def merge_bitonic(items: T[ITEMS] @ thread[1], width: int32 @ thread[1]):
    """Sort each run of `width` elements in place, which first rises and then falls, or the other way round.

    Perspective: thread.
    Shapes:      `ITEMS` and `width`, a constant, are powers of two.
    Cost:        `log2(width) / 2` comparisons an element; no barrier.
    Source:      Batcher, "Sorting networks and their applications".
    Test:        tests/lib/warp/test_sort.py
    """
    for step in range(6):
        if width >> (step + 1) > 0:
            for k in range(ITEMS):
                if k ^ (width >> (step + 1)) > k:
                    a: T = items[k]
                    b: T = items[k ^ (width >> (step + 1))]
                    items[k] = b if LESS(b, a) else a
                    items[k ^ (width >> (step + 1))] = a if LESS(b, a) else b


@prism.device
@requires(thread[1])
@template(T=dtype, LESS=function, TOTAL=constexpr(bool))
def keep(mine: T @ thread[1], other: T @ thread[1], low: bool @ thread[1]) -> T @ thread[1]:
    """What this thread keeps of its element and its partner's: the lesser one where `low`, else the other; of equal ones its own.

    Perspective: thread.
    Shapes:      `TOTAL`: of two elements one is less, unless they are the same in all bits.
    Cost:        two comparisons, of 4 bytes one instruction each; where `TOTAL`, and the element is larger, one.
    Test:        tests/lib/warp/test_sort.py
    """
    if TOTAL and T.bytes > 4:
        return other if LESS(other, mine) == low else mine
    else:
        lower: T = other if LESS(other, mine) else mine
        upper: T = other if LESS(mine, other) else mine
        return lower if low else upper
