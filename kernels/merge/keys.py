"""Integers alone, merged: equal ones are the same in all bits, so networks may exchange them."""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread,
)
from prism.kernels.merge.rows import load_two, merge_rows, store_rows
from prism.lib.thread import operators


@prism.kernel
@template(T=dtype, LESS=function, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_keys(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], cuts: ptr(const(int64)) @ grid[1],
    n: int64 @ grid[1], middle: int64 @ grid[1], otherwise: T @ grid[1],
):
    """Merge two sorted arrays.

    Perspective: grid, a block for each tile of `THREADS * ITEMS` elements.
    Shapes:      `y`: `n` elements, at least one, memory of neither `a`, of `middle` elements, nor `b`, which has the others.
                 `LESS` is their order; elements of which neither is less are the same in all bits. `cuts`: as `cut_runs` makes
                 them. `otherwise`: any.
    Cost:        each element is read once, and written once.
    Source:      as of `merge_rows`.
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    number: int64 @ block[1] = id()
    diagonal: int64 @ block[1] = number * TILE
    many: int32 @ block[1] = int32(min(n - diagonal, TILE))
    with partition(y, block[1], offset=diagonal, races="none") as part, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(T[THREADS * (ITEMS + 1)]) @ block[1]
        first: int64 @ block[1] = cuts[number]
        until: int64 @ block[1] = middle
        if diagonal + TILE < n:
            until = cuts[number + 1]
        size_a: int32 @ block[1] = int32(min(max(until - first, 0), int64(many)))  # sorted or not
        items: T[ITEMS] @ thread[1]
        with partition(a, block[1], offset=first) as one, partition(b, block[1], offset=diagonal - first) as other:
            load_two(one, size_a, other, many - size_a, tile, otherwise, ITEMS=ITEMS, THREADS=THREADS, LESS=LESS)
        size_b: int32 @ block[1] = many - size_a
        merge_rows(tile, 0, THREADS, TILE - size_b, size_b, items, ITEMS=ITEMS, THREADS=THREADS, WHOLE=True, LESS=LESS)
        store_rows(tile, items, t, False, ITEMS=ITEMS)
        with partition(part, thread[1], offset=t) as target, group(thread[1]):
            for k in range(ITEMS):
                if many == TILE or k * THREADS < many - t:
                    target[k * THREADS] = tile[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]


EXAMPLES = {"merge_keys": {"T": "int32", "LESS": operators.less, "ITEMS": 16, "THREADS": 256, "BLOCKS": 4}}
