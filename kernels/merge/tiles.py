"""Tiles sorted by merging, each by a block: what merges of runs begin with."""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread, warp,
)
from prism.kernels.merge.rows import merge_rows, store_rows
from prism.lib.thread import operators


@prism("device")
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), LESS=function)
def sort_numbered(items: T[ITEMS] @ thread[1], numbers: int32[ITEMS] @ thread[1]):
    """`thread.sort`, of elements with their numbers."""
    for step in range(ITEMS):
        for k in range(step % 2, ITEMS - 1, 2):
            low: T = items[k]
            high: T = items[k + 1]
            one: int32 = numbers[k]
            other: int32 = numbers[k + 1]
            swap: bool = LESS(high, low)
            items[k] = high if swap else low
            items[k + 1] = low if swap else high
            numbers[k] = other if swap else one
            numbers[k + 1] = one if swap else other


@prism("global")
@template(
    T=dtype, V=dtype, LESS=function, VALUES=constexpr(bool), TOTAL=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int),
    BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_tiles(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], x_values: ptr(const(V)) @ grid[1], y_values: ptr(V) @ grid[1],
    n: int64 @ grid[1],
):
    """Sort each tile of `THREADS * ITEMS` elements of `x`, so that none is `LESS` than the one before it, stable, into `y`.

    Perspective: grid, a block for each tile.
    Shapes:      `x`, `y`: `n` elements, at least one; they may not be the same memory. `VALUES` go where their keys go. `TOTAL`:
                 elements of which neither is less are the same in all bits.
    Cost:        a read and a write; a thread sorts `ITEMS` elements, or where `TOTAL` a warp those of its threads, and then
                 `merge_rows` doubles runs.
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    ROOM: constexpr(int) = THREADS * (ITEMS + 1)
    NUMBERED: constexpr(bool) = VALUES or not TOTAL
    PLACES: constexpr(int) = ITEMS if NUMBERED else 1
    start: int64 @ block[1] = int64(TILE) * id()
    with partition(y, block[1], offset=start) as target, partition(y_values, block[1], offset=start) as value_target, \
         group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(T[ROOM]) @ block[1]
        spots: shared(int32[ROOM if NUMBERED else 1]) @ block[1]
        values: shared(V[TILE if VALUES else 1]) @ block[1]
        many: int32 @ block[1] = int32(min(n - start, TILE))
        items: T[ITEMS] @ thread[1]
        numbers: int32[PLACES] @ thread[1]
        last: T @ block[1] = x[start]  # what no element of the tile is behind: it fills up a tile that is not whole
        with partition(x, block[1], offset=start) as source:
            block.load_striped(source, items, many, last)
        if VALUES:
            with partition(values, thread[1], offset=t) as own, group(thread[1]):
                for k in range(ITEMS):
                    if k * THREADS < many - t:
                        own[k * THREADS] = x_values[start + k * THREADS + t]
        if many < TILE:
            @requires(thread[1])
            def later(one: T @ thread[1], other: T @ thread[1]) -> T @ thread[1]:
                return other if LESS(one, other) else one

            last = block.reduce(thread.reduce(items, OP=later), OP=later)
            with group(thread[1]):
                for k in range(ITEMS):
                    if k * THREADS + t >= many:
                        items[k] = last
        width: int32 @ block[1] = 1 if NUMBERED else 32  # so many threads hold a sorted run together
        if NUMBERED:
            block.striped_to_blocked(items, THREADS=THREADS)
            with group(thread[1]):
                for k in range(ITEMS):
                    numbers[k] = t * ITEMS + k
                sort_numbered(items, numbers, LESS=LESS)
        else:
            warp.sort(items, SIZE=32, LESS=LESS, TOTAL=True)
        while width < THREADS:
            inside: int32 @ thread[1] = t % (2 * width)
            row: int32 @ thread[1] = t ^ width - 1 if inside >= width else t
            store_rows(tile, items, row, inside >= width, ITEMS=ITEMS)
            if NUMBERED:
                store_rows(spots, numbers, row, inside >= width, ITEMS=ITEMS)
            merge_rows(
                tile, spots, t - inside, 2 * width, width * ITEMS, width * ITEMS, items, numbers, ITEMS=ITEMS, THREADS=THREADS,
                LESS=LESS, PLACES=PLACES,
            )
            width = 2 * width
        store_rows(tile, items, t, False, ITEMS=ITEMS)
        if VALUES:
            store_rows(spots, numbers, t, False, ITEMS=ITEMS)
        with partition(target, thread[1], offset=t) as own, partition(value_target, thread[1], offset=t) as value_own, \
             group(thread[1]):
            for k in range(ITEMS):
                if k * THREADS < many - t:
                    own[k * THREADS] = tile[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]
            if VALUES:
                for k in range(ITEMS):
                    if k * THREADS < many - t:
                        value_own[k * THREADS] = values[spots[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]]


EXAMPLES = {
    "sort_tiles": {
        "T": "float32", "V": "int32", "LESS": operators.less, "VALUES": False, "TOTAL": False, "ITEMS": 16, "THREADS": 256,
        "BLOCKS": 3,
    },
}
