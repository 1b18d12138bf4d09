"""Rows longer than a block's tile, each sorted by one block: tiles by the network, then runs merged through global memory."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, template, thread,
)
from prism.kernels.sort_rows.elements import PLACED, before, behind_all, pack, place_of
from prism.kernels.sort_rows.segments import GATHERED, ROWS, SEGMENTS, bounds_of


@prism("global")
@template(
    T=dtype, U=dtype, E=dtype, V=dtype, I=dtype, O=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    DESCENDING=constexpr(bool), KEYS=constexpr(int), PLACES=constexpr(bool), VALUES=constexpr(bool), MODE=constexpr(int),
    LISTED=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_long_rows(
    x: ptr(const(T)) @ grid[1], values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1],
    moved: ptr(V) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], listed: ptr(const(int32)) @ grid[1],
    listed_many: ptr(const(int32)) @ grid[1], one: ptr(E) @ grid[1], other: ptr(E) @ grid[1], rows: int64 @ grid[1],
    columns: int64 @ grid[1], n: int64 @ grid[1], least: int64 @ grid[1], most: int64 @ grid[1],
    first_listed: int64 @ grid[1], number: int32 @ grid[1],
):
    """Sort rows of any length below 2^31, each by a block.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `sort_rows_by_lanes`; elements are sorted with their positions. `one`, `other`: room for `n` of these.
    Cost:        a read and a write for each doubling of runs from `THREADS * ITEMS` on, by one block: a way for few rows.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    total: int64 @ grid[1] = rows
    if LISTED:
        total = int64(listed_many[number])
    with partition(one, block[1], f=lambda i: i, races="none") as first, \
         partition(other, block[1], f=lambda i: i, races="none") as second, \
         partition(y, thread[1], f=lambda i: i, races="none") as target, \
         partition(positions, thread[1], f=lambda i: i, races="none") as place_target, \
         partition(moved, thread[1], f=lambda i: i, races="none") as value_target, group(block[1]):
        t: int32 @ thread[1] = id()
        for turn in range(here, total, blocks):
            row: int64 @ block[1] = turn
            if LISTED:
                row = int64(listed[first_listed + turn])
            begin: int64 @ block[1] = 0
            length: int64 @ block[1] = 0
            begin, length = bounds_of(
                row, rows, int64(starts[row]) if MODE == SEGMENTS else int64(0), int64(ends[row]) if MODE == SEGMENTS else int64(0),
                columns, n, least, most, MODE=MODE,
            )
            size: int32 @ block[1] = int32(length)
            items: E[ITEMS] @ thread[1]
            for tile in range(0, size, TILE):
                with group(thread[1]):
                    for k in range(ITEMS):
                        place: int32 = tile + k * THREADS + t
                        items[k] = behind_all(E=E)
                        if place < size:
                            items[k] = pack(x[begin + place], place, U=U, E=E, DESCENDING=DESCENDING, FORM=PLACED)
                block.sort_network(items, THREADS=THREADS, LESS=before, TOTAL=True)
                block.blocked_to_striped(items, THREADS=THREADS)
                with partition(first, thread[1], f=lambda i: begin + tile + t + i, races="none") as mine, group(thread[1]):
                    for k in range(ITEMS):
                        if tile + k * THREADS + t < size:
                            mine[k * THREADS] = items[k]
            swapped: bool @ block[1] = False  # whether the runs are in `second`
            width: int64 @ block[1] = TILE
            while width < length:
                if swapped:
                    merge_runs(second, first, begin, size, width, ITEMS=ITEMS, THREADS=THREADS)
                else:
                    merge_runs(first, second, begin, size, width, ITEMS=ITEMS, THREADS=THREADS)
                swapped = not swapped
                width = 2 * width
            with group(thread[1]):
                for column in range(t, size, THREADS):
                    place: int64 = 0
                    if swapped:
                        place = int64(place_of(second[begin + column]))
                    else:
                        place = int64(place_of(first[begin + column]))
                    if KEYS == GATHERED:
                        target[begin + column] = x[begin + place]
                    if VALUES:
                        value_target[begin + column] = values[begin + place]
                    if PLACES:
                        place_target[begin + column] = I(place)


@prism("device")
@requires(block[1], thread[32])
@template(E=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def merge_runs(
    source: ptr(const(E)) @ block[1], target: ptr(E) @ block[1], begin: int64 @ block[1], size: int32 @ block[1],
    width: int64 @ block[1],
):
    """Merge the sorted runs of `width` elements from `source[begin]` on, two and two, into `target`."""
    TILE: constexpr(int) = THREADS * ITEMS
    t: int32 @ thread[1] = id()
    none: E @ thread[1] = behind_all(E=E)
    for tile in range(0, size, TILE):
        pair: int32 @ block[1] = int32(int64(tile) / (2 * width) * (2 * width))
        middle: int32 @ block[1] = int32(min(pair + width, int64(size)))
        end: int32 @ block[1] = int32(min(pair + 2 * width, int64(size)))
        until: int32 @ block[1] = min(tile + TILE, end)
        items: E[ITEMS] @ thread[1]
        with partition(source, block[1], offset=begin + pair) as a, partition(source, block[1], offset=begin + middle) as b:
            found: int32 @ thread[1] = 0  # in even threads for the tile's beginning, in odd ones for its end
            with group(thread[1]):
                diagonal: int32 = (tile if t % 2 == 0 else until) - pair
                found = thread.merge_path(a, middle - pair, b, end - middle, diagonal, LESS=before)
            i: int32 @ block[1] = block.broadcast(found, 0)
            i_end: int32 @ block[1] = block.broadcast(found, 1)
            with partition(a, block[1], offset=i) as left, partition(b, block[1], offset=tile - pair - i) as right:
                block.merge(
                    left, i_end - i, right, until - tile - (i_end - i), items, none, THREADS=THREADS, LESS=before,
                )
        block.blocked_to_striped(items, THREADS=THREADS)
        with partition(target, thread[1], f=lambda k: begin + tile + t + k, races="none") as mine, group(thread[1]):
            for k in range(ITEMS):
                if tile + k * THREADS + t < until:
                    mine[k * THREADS] = items[k]


EXAMPLES = {
    "sort_long_rows": {
        "T": "float32", "U": "uint32", "E": "uint64", "V": "float32", "I": "int64", "O": "int64", "ITEMS": 8, "THREADS": 512,
        "BLOCKS": 1, "DESCENDING": False, "KEYS": GATHERED, "PLACES": False, "VALUES": False, "MODE": ROWS, "LISTED": False,
    },
}
