"""A block makes a guide to a sorted table, by which threads search it."""

from prism.lang import (
    block, const, constexpr, count, dtype, float32, group, id, int32, is_finite, partition, prism, ptr, requires, template,
    thread, uint32,
)
from prism.lib.thread.search import MAGIC, cell_of

TINY = 1e-30
"""Cells in a unit where that is no number: all are in the first cell but those that are very large."""


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, CELLS=constexpr(int))
def fill_guide(
    table: ptr(const(T)) @ block[1], size: int32 @ block[1], guide: ptr(uint32) @ block[1]
) -> (float32, float32) @ block[1]:
    """Write for each of `CELLS` cells, of equal width, which elements of a sorted table are in it: for `thread.search`.

    Perspective: block, of any number of threads.
    Shapes:      `table`: at least one element, fewer than 2^15; no NaN. `guide`: `CELLS` words.
    Errors:      of a table that is not sorted `thread.search` finds some rank, and reads nothing outside.
    Returns:     what is added to a number of cells from 0 on, and how many of them a unit has: what `thread.search` takes.
    Cost:        `CELLS / threads` reads a thread, and `log2(size)` more for its first cell, and each with an element; no barrier.
    Test:        tests/lib/thread/test_search.py
    """
    offset: float32 @ block[1] = 0
    scale: float32 @ block[1] = 0
    offset, scale = cells_of(table, size, CELLS=CELLS)
    each: int32 @ block[1] = (CELLS + (count(thread[1]) - 1)) // count(thread[1])
    c: int32 @ thread[1] = id() * each  # a thread's first cell: its cells are side by side
    with partition(guide, thread[1], offset=c) as mine, group(thread[1]):
        begin: int32 = below_cell(table, size, c, 0, offset, scale, CELLS=CELLS)
        for k in range(min(each, CELLS - c)):
            end: int32 = begin
            if begin < size:
                if cell_of(table[begin], offset, scale, CELLS=CELLS) <= c + k:
                    end = below_cell(table, size, c + k + 1, begin + 1, offset, scale, CELLS=CELLS)
            unequal: bool = False
            if end - begin > 1:
                unequal = table[begin] != table[end - 1]
            mine[k] = uint32(begin) | uint32(1 if unequal else 0) << 15 | uint32(end - begin) << 16
            begin = end
    return offset, scale


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, CELLS=constexpr(int))
def cells_of(table: ptr(const(T)) @ block[1], size: int32 @ block[1]) -> (float32, float32) @ block[1]:
    """What is added to a number of cells from 0 on, and how many a unit has, where `CELLS` reach over a sorted table.

    An outer element that is infinite is in the first or the last cell: the others decide.
    """
    first: float32 @ block[1] = float32(table[0])
    last: float32 @ block[1] = float32(table[size - 1])
    if size > 2:
        first = first if is_finite(first) else float32(table[1])
        last = last if is_finite(last) else float32(table[size - 2])
    width: float32 @ block[1] = last - first
    scale: float32 @ block[1] = CELLS / width if is_finite(first) and is_finite(width) and width > 0 else float32(TINY)
    scale = scale if is_finite(scale) else float32(TINY)
    offset: float32 @ block[1] = MAGIC - first * scale
    return offset if is_finite(offset) else float32(MAGIC), scale


@prism.device
@requires(thread[1])
@template(T=dtype, CELLS=constexpr(int))
def below_cell(
    table: ptr(const(T)) @ thread[1], size: int32 @ thread[1], c: int32 @ thread[1], least: int32 @ thread[1],
    offset: float32 @ thread[1], scale: float32 @ thread[1],
) -> int32 @ thread[1]:
    """How many of a table's elements are in cells below `c`; the first `least` are."""
    low: int32 = least
    high: int32 = size
    while low < high:
        middle: int32 = (low + high) // 2
        if cell_of(table[middle], offset, scale, CELLS=CELLS) < c:
            low = middle + 1
        else:
            high = middle
    return low
