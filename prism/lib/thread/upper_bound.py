"""One thread looks a value up in a sorted run."""

from prism.lang import const, dtype, function, int32, prism, ptr, requires, template, thread


@prism("device")
@requires(thread[1])
@template(T=dtype, LESS=function)
def upper_bound(x: ptr(const(T)) @ thread[1], size: int32 @ thread[1], value: T @ thread[1]) -> int32 @ thread[1]:
    """The index of the first element that `value` is `LESS` than; `size` where there is none.

    Perspective: thread.
    Shapes:      `x`: `size` elements, sorted by `LESS`.
    Cost:        `log2(size)` reads; no barrier.
    Test:        tests/lib/thread/test_search.py
    """
    low: int32 = 0
    high: int32 = size
    while low < high:
        middle: int32 = (low + high) / 2
        found: T = x[middle]
        if not LESS(value, found):
            low = middle + 1
        else:
            high = middle
    return low
