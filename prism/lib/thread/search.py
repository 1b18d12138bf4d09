"""One thread looks a value up in a sorted run, or where its part of a merge begins."""

from prism.lang import const, constexpr, dtype, function, int32, prism, ptr, requires, template, thread


@prism("device")
@requires(thread[1])
@template(T=dtype, LESS=function)
def lower_bound(x: ptr(const(T)) @ thread[1], size: int32 @ thread[1], value: T @ thread[1]) -> int32 @ thread[1]:
    """The index of the first element not `LESS` than `value`; `size` where there is none.

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
        if LESS(found, value):
            low = middle + 1
        else:
            high = middle
    return low


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


@prism("device")
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int))
def search(
    tree: ptr(const(T)) @ thread[1], levels: int32 @ thread[1], values: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1]
):
    """Put into `ranks[k]` how many of a table's elements are not larger than `values[k]`: 0 of NaN. All are looked up together.

    Perspective: thread.
    Shapes:      `tree`: `2^levels` elements in shared memory, which `block.fill_tree` has filled. `levels`: at most 30.
    Cost:        `levels` reads a value, those of the `ITEMS` under way at once; no barrier. A level's elements lie side by side:
                 threads meet in few banks, where they would all meet in one in a sorted table.
    Test:        tests/lib/thread/test_search.py
    """
    for k in range(ITEMS):
        ranks[k] = 1
    for _ in range(levels):
        for k in range(ITEMS):
            ranks[k] = 2 * ranks[k] + (1 if tree[ranks[k]] <= values[k] else 0)
    for k in range(ITEMS):
        ranks[k] = ranks[k] - (1 << levels)
