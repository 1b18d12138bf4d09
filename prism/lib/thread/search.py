"""One thread looks a value up in a sorted run, or where its part of a merge begins."""

from prism.lang import (
    bitcast, const, constexpr, dtype, float32, fma, function, int32, prism, ptr, requires, template, thread, uint32,
)

MAGIC = 12582912.0
"""1.5 * 2^23: what is added to it in float32 is rounded to a whole number, which is then its lowest bits."""
MAGIC_BITS = 0x4B400000
"""The bits of `MAGIC`."""


@prism.device
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
        middle: int32 = (low + high) // 2
        found: T = x[middle]
        if LESS(found, value):
            low = middle + 1
        else:
            high = middle
    return low


@prism.device
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
        middle: int32 = (low + high) // 2
        found: T = x[middle]
        if not LESS(value, found):
            low = middle + 1
        else:
            high = middle
    return low


@prism.device
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
    Errors:      of runs that are not sorted it is some number that both runs have room for.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/lib/block/test_sort.py
    """
    low: int32 = max(diagonal - size_b, 0)
    high: int32 = min(diagonal, size_a)
    while low < high:
        middle: int32 = (low + high) // 2
        left: T = a[middle]
        right: T = b[diagonal - 1 - middle]
        if LESS(right, left):
            high = middle
        else:
            low = middle + 1
    return low


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), CELLS=constexpr(int))
def search(
    table: ptr(const(T)) @ thread[1], guide: ptr(const(uint32)) @ thread[1], values: T[ITEMS] @ thread[1],
    ranks: int32[ITEMS] @ thread[1], offset: float32 @ thread[1], scale: float32 @ thread[1],
):
    """Put into `ranks[k]` how many of a sorted table's elements are not larger than `values[k]`: 0 of NaN.

    A larger number is in no lower cell, whatever is rounded: so only the elements in a number's own cell are looked at.

    Perspective: thread.
    Shapes:      `table`, in shared memory, and `guide`, `offset`, `scale`: as of `block.fill_guide`.
    Cost:        a read of the guide, one of the table where the cell has an element; `log2` of them more where it has several
                 that differ. No barrier.
    Test:        tests/lib/thread/test_search.py
    """
    QUAD: constexpr(int) = 4 if ITEMS % 4 == 0 else ITEMS
    for q in range(ITEMS // QUAD):
        seen: uint32 = 0
        for k in range(q * QUAD, (q + 1) * QUAD):
            word: uint32 = guide[cell_of(values[k], offset, scale, CELLS=CELLS)]
            rank: int32 = int32(word & 0x7FFF)
            if word > 0xFFFF:
                rank = rank + (int32(word >> 16) if table[rank] <= values[k] else 0)
            seen = seen | word
            ranks[k] = rank
        if seen & 0x8000 != 0:  # rare, where there are many more cells than elements
            for k in range(q * QUAD, (q + 1) * QUAD):
                word: uint32 = guide[cell_of(values[k], offset, scale, CELLS=CELLS)]
                begin: int32 = int32(word & 0x7FFF)
                high: int32 = ranks[k]
                low: int32 = begin + 1 if word & 0x8000 != 0 and high > begin else high
                while low < high:
                    middle: int32 = (low + high) // 2
                    if table[middle] <= values[k]:
                        low = middle + 1
                    else:
                        high = middle
                ranks[k] = low


@prism.device
@requires(thread[1])
@template(T=dtype, CELLS=constexpr(int))
def cell_of(value: T @ thread[1], offset: float32 @ thread[1], scale: float32 @ thread[1]) -> int32 @ thread[1]:
    """The cell of a number, of `CELLS` that are as `block.fill_guide` says; the first or the last one where it is outside.

    A number of a unit more is `scale` cells further. Sums are rounded to whole cells, since they are beyond 2^23, and their bits
    are numbers then. NaN is in the first cell.

    Perspective: thread.
    """
    at: float32 = fma(float32(value), scale, offset)
    bits: uint32 = bitcast(at if at > MAGIC else float32(MAGIC), uint32)
    return int32(min(bits - MAGIC_BITS, uint32(CELLS - 1)))
