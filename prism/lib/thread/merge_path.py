"""One thread finds where its part of a merge begins."""

from prism.lang import const, dtype, function, int32, prism, ptr, requires, template, thread


@prism("device")
@requires(thread[1])
@template(T=dtype, LESS=function)
def merge_path(
    a: ptr(const(T)) @ thread[1], size_a: int32 @ thread[1], b: ptr(const(T)) @ thread[1], size_b: int32 @ thread[1],
    diagonal: int32 @ thread[1],
) -> int32 @ thread[1]:
    """How many of the first `diagonal` elements of the stable merge of two sorted runs come from `a`.

    Perspective: thread.
    Shapes:      `a`: `size_a` elements, `b`: `size_b`, each sorted by `LESS`; `0 <= diagonal <= size_a + size_b`.
    Cost:        `log2(min(size_a, size_b))` reads of each run; no barrier.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    low: int32 = max(diagonal - size_b, 0)
    high: int32 = min(diagonal, size_a)
    while low < high:
        middle: int32 = (low + high) / 2
        left: T = a[middle]
        right: T = b[diagonal - 1 - middle]
        if LESS(right, left):
            high = middle
        else:
            low = middle + 1
    return low
