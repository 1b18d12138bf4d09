"""One thread sorts the elements in its registers."""

from prism.lang import constexpr, dtype, function, prism, requires, template, thread


@prism("device")
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
