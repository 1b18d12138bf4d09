"""A block merges two sorted runs."""

from prism.lang import (
    block, const, constexpr, dtype, function, group, id, int32, partition, prism, ptr, requires, template, thread,
)


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), LESS=function)
def merge(
    a: ptr(const(T)) @ block[1], size_a: int32 @ block[1], b: ptr(const(T)) @ block[1], size_b: int32 @ block[1],
    items: T[ITEMS] @ thread[1], otherwise: T @ block[1],
):
    """Put the merge of two sorted runs into the block's registers; places from `size_a + size_b` on become `otherwise`.

    Perspective: block, of any number of threads.
    Shapes:      `a`: `size_a` elements, `b`: `size_b`, each sorted by `LESS`. `items`: blocked, place `t * ITEMS + k` in thread
                 `t`; the runs are not longer than that together. Of equal elements those of `a` come first.
    Cost:        `thread.merge_path`, and `ITEMS + 1` reads a thread; no barrier.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    t: int32 @ thread[1] = id()
    with partition(a, thread[1]) as left, partition(b, thread[1]) as right:
        with group(thread[1]):
            diagonal: int32 = min(t * ITEMS, size_a + size_b)
            i: int32 = thread.merge_path(left, size_a, right, size_b, diagonal, LESS=LESS)
            j: int32 = diagonal - i
            for k in range(ITEMS):
                items[k] = otherwise
                if i + j < size_a + size_b:
                    from_b: bool = i >= size_a
                    if i < size_a and j < size_b:
                        one: T = left[i]
                        other: T = right[j]
                        from_b = LESS(other, one)
                    if from_b:
                        items[k] = right[j]
                        j = j + 1
                    else:
                        items[k] = left[i]
                        i = i + 1
