"""Sorted runs merged two at a time, tile by tile.

A tile is not longer than a block's registers; the tiles of a group of runs begin where the group does.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread,
)
from prism.kernels.merge.cuts import pair_of
from prism.kernels.merge.spots import put_row, put_striped, store_first
from prism.lib.block.sort import load_runs, merge_within
from prism.lib.thread import operators


@prism.kernel
@template(
    T=dtype, V=dtype, LESS=function, VALUES=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_tiles(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], a_values: ptr(const(V)) @ grid[1],
    b_values: ptr(const(V)) @ grid[1], y_values: ptr(V) @ grid[1], cuts: ptr(const(int64)) @ grid[1], width: int64 @ grid[1],
    n: int64 @ grid[1], middle: int64 @ grid[1], otherwise: T @ grid[1], nothing: V @ grid[1],
):
    """Merge sorted runs two and two, of equal elements those of the first run first; `VALUES` go where their keys go.

    Perspective: grid, a block for each tile: of each pair of runs `ceil` of its length, or of `2 * width`, by `THREADS * ITEMS`.
    Shapes:      `y`: `n` elements, memory of neither `a` nor `b`. `width` 0: `a` has `middle` elements, and `b` the others;
                 else both are `n` elements, in sorted runs of `width`, the last of which may be shorter. `LESS` is their order.
                 `cuts`: as `cut_runs` makes them. `otherwise`, `nothing`: any.
    Cost:        each element is read once, and written once.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    number: int64 @ block[1] = id()
    begin: int64 @ block[1] = 0
    one: int64 @ block[1] = 0
    other: int64 @ block[1] = 0
    diagonal: int64 @ block[1] = 0
    begin, one, other, diagonal = pair_of(number, width, n, middle, TILE=TILE)
    with partition(y, block[1], offset=begin + diagonal, races="none") as target, \
         partition(y_values, block[1], offset=begin + diagonal, races="none") as value_target, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(T[TILE]) @ block[1]
        moved: shared(V[TILE if VALUES else 1]) @ block[1]
        second: int64 @ block[1] = begin + one if width > 0 else 0
        many: int32 @ block[1] = int32(min(one + other - diagonal, TILE))
        first: int64 @ block[1] = cuts[number]
        until: int64 @ block[1] = one
        if diagonal + TILE < one + other:
            until = cuts[number + 1]
        taken: int32 @ block[1] = int32(min(max(until - first, 0), int64(many)))  # whatever `LESS` says
        keys: T[ITEMS] @ thread[1]
        values: V[ITEMS if VALUES else 1] @ thread[1]
        spots: int32[ITEMS] @ thread[1]
        with partition(a, block[1], offset=begin + first) as left, \
             partition(b, block[1], offset=second + diagonal - first) as right:
            load_runs(left, taken, right, many - taken, keys, otherwise, THREADS=THREADS)
        if VALUES:
            with partition(a_values, block[1], offset=begin + first) as left, \
                 partition(b_values, block[1], offset=second + diagonal - first) as right:
                load_runs(left, taken, right, many - taken, values, nothing, THREADS=THREADS)
        put_striped(tile, keys, THREADS=THREADS)
        if VALUES:
            put_striped(moved, values, THREADS=THREADS)
        with group(thread[1]):
            merge_within(tile, 0, taken, many, t * ITEMS, keys, spots, otherwise, False, SIZE=TILE, LESS=LESS)
            if VALUES:
                for k in range(ITEMS):
                    values[k] = moved[spots[k]]
        put_row(tile, keys, t * ITEMS, TILE)
        if VALUES:
            put_row(moved, values, t * ITEMS, TILE)
        store_first(target, tile, many, ITEMS=ITEMS, THREADS=THREADS)
        if VALUES:
            store_first(value_target, moved, many, ITEMS=ITEMS, THREADS=THREADS)


EXAMPLES = {
    "merge_tiles": {
        "T": "float32", "V": "int32", "LESS": operators.less, "VALUES": False, "ITEMS": 15, "THREADS": 256, "BLOCKS": 4,
    },
}
