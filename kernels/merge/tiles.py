"""Tiles sorted by merging, each by a block: what merges of runs begin with."""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, template,
    thread,
)
from prism.lib.thread import operators


@prism.kernel
@template(
    T=dtype, V=dtype, LESS=function, VALUES=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_tiles(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], x_values: ptr(const(V)) @ grid[1], y_values: ptr(V) @ grid[1],
    n: int64 @ grid[1], nothing: V @ grid[1],
):
    """Sort each tile of `THREADS * ITEMS` elements of `x`, so that none is `LESS` than the one before it, stable, into `y`.

    Perspective: grid, a block for each tile.
    Shapes:      `x`, `y`: `n` elements, at least one; they may not be the same memory. `VALUES` go where their keys go.
                 `nothing`: any.
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    start: int64 @ block[1] = int64(TILE) * id()
    with partition(y, block[1], offset=start) as target, partition(y_values, block[1], offset=start) as value_target, \
         group(block[1]):
        t: int32 @ thread[1] = id()
        many: int32 @ block[1] = int32(min(n - start, TILE))
        items: T[ITEMS] @ thread[1]
        values: V[ITEMS if VALUES else 1] @ thread[1]
        last: T @ block[1] = x[start]  # what no element of the tile is behind: it fills up a tile that is not whole
        with partition(x, block[1], offset=start) as source:
            block.load_striped(source, items, many, last)
        if VALUES:
            with partition(x_values, block[1], offset=start) as value_source:
                block.load_striped(value_source, values, many, nothing)
        if many < TILE:
            @requires(thread[1])
            def later(one: T @ thread[1], other: T @ thread[1]) -> T @ thread[1]:
                return other if LESS(one, other) else one

            last = block.reduce(thread.reduce(items, OP=later), OP=later)
            with group(thread[1]):
                for k in range(ITEMS):
                    if k * THREADS + t >= many:
                        items[k] = last
        block.striped_to_blocked(items, THREADS=THREADS)
        if VALUES:
            block.striped_to_blocked(values, THREADS=THREADS)
            block.merge_sort_pairs(items, values, THREADS=THREADS, LESS=LESS)
            block.blocked_to_striped(values, THREADS=THREADS)
            block.store_striped(value_target, values, many)
        else:
            block.merge_sort(items, THREADS=THREADS, LESS=LESS)
        block.blocked_to_striped(items, THREADS=THREADS)
        block.store_striped(target, items, many)


EXAMPLES = {
    "sort_tiles": {
        "T": "float32", "V": "int32", "LESS": operators.less, "VALUES": False, "ITEMS": 15, "THREADS": 256, "BLOCKS": 3,
    },
}
