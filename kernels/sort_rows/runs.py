"""Rows and segments that no block holds: tiles sorted by the network, then runs merged four at a time, by all blocks.

A tile of a row is found by its number alone where rows are equal. Segments' tiles are listed on the device first: the host does not
know how many there are, nor how long the longest segment is. A pass over runs as long as that has nothing to do.
"""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires,
    shared, template, thread,
)
from prism.kernels.merge.rows import cut_four, merge_four, store_rows
from prism.kernels.sort_rows.elements import ALONE, PLACED, before, behind_all, element_of, pack, place_of
from prism.kernels.sort_rows.segments import BACK, GATHERED, ROWS, SEGMENTS, bounds_of
from prism.lib.thread import operators

TILES, LONGEST = range(2)
"""What the kernels are told of segments: how many tiles they have, and how long the longest is."""


@prism("global")
@template(O=dtype, TILE=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(THREADS)")
def list_tiles(
    starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], listed: ptr(const(int32)) @ grid[1],
    listed_many: ptr(const(int32)) @ grid[1], owners: ptr(int32) @ grid[1], firsts: ptr(int32) @ grid[1],
    found: ptr(int64) @ grid[1], n: int64 @ grid[1], capacity: int64 @ grid[1], first_listed: int64 @ grid[1], number: int32 @ grid[1],
):
    """List the tiles of segments: `owners` gets the number of each one's segment, `firsts` that of its segment's first tile.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes:      `listed_many[number]` segments, whose numbers `listed` has from `first_listed` on. `found[TILES]` becomes the
                 number of tiles, of `TILE` elements and fewer, `found[LONGEST]` the length of the longest segment. There is room
                 for `capacity` tiles, more than segments that have no element in common come to.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    with partition(owners, thread[1], offset=lambda i: i, races="none") as owner, \
         partition(firsts, thread[1], offset=lambda i: i, races="none") as first, \
         partition(found, thread[1], offset=lambda i: i, races="none") as told, group(block[1]):
        t: int32 @ thread[1] = id()
        heads: shared(int32[THREADS]) @ block[1]  # where the tiles of each segment begin
        names: shared(int32[THREADS]) @ block[1]
        longest: int64 @ thread[1] = 0
        tiles: int32 @ block[1] = 0
        many: int32 @ block[1] = listed_many[number]
        for turn in range(0, many, THREADS):
            s: int32 @ thread[1] = -1
            own: int32 @ thread[1] = 0
            with group(thread[1]):
                if turn + t < many:
                    s = listed[first_listed + (turn + t)]
                    begin: int64 = 0
                    length: int64 = 0
                    begin, length = bounds_of(
                        int64(s), int64(s) + 1, int64(starts[s]), int64(ends[s]), 0, n, 1, n, MODE=SEGMENTS,
                    )
                    own = int32((length + (TILE - 1)) / TILE)
                    longest = max(longest, length)
            head: int32[1] @ thread[1]
            with group(thread[1]):
                head[0] = own
            total: int32 @ block[1] = block.scan(head, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
            with partition(heads, thread[1], offset=t) as place, partition(names, thread[1], offset=t) as name, group(thread[1]):
                place[0] = head[0]
                name[0] = s
            with group(thread[1]):
                for tile in range(t, total, THREADS):
                    if tiles + tile < capacity:
                        at: int32 = thread.upper_bound(heads, min(THREADS, many - turn), tile, LESS=operators.less) - 1
                        owner[tiles + tile] = names[at]
                        first[tiles + tile] = tiles + heads[at]
            tiles = int32(min(tiles + total, capacity))
        most: int64 @ block[1] = block.reduce(longest, OP=operators.maximum)
        with group(thread[1]):
            if t == 0:
                told[TILES] = int64(tiles)
                told[LONGEST] = most


@prism("device")
@requires(thread[1])
@template(MODE=constexpr(int), TILE=constexpr(int))
def owner_of(tile: int64 @ thread[1], columns: int64 @ thread[1], owner: int32 @ thread[1], first: int32 @ thread[1]) -> (
    int64, int64
) @ thread[1]:
    """Which row or segment a tile is of, and which of its tiles it is; `owner`, `first`: what is said of a segment's."""
    if MODE == SEGMENTS:
        return int64(owner), tile - first
    share: int64 = (columns + (TILE - 1)) / TILE
    return tile / share, tile % share


@prism("global")
@template(
    T=dtype, U=dtype, E=dtype, O=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    DESCENDING=constexpr(bool), FORM=constexpr(int), MODE=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_long_tiles(
    x: ptr(const(T)) @ grid[1], target: ptr(E) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1],
    owners: ptr(const(int32)) @ grid[1], firsts: ptr(const(int32)) @ grid[1], found: ptr(const(int64)) @ grid[1],
    rows: int64 @ grid[1], columns: int64 @ grid[1], n: int64 @ grid[1],
):
    """Sort each tile of the rows: what is sorted, as of `sort_rows_by_lanes`, goes to the same places of `target`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`, `target`: `n` elements. A tile has `(THREADS - 1) * ITEMS` elements, or is the last one of its row. By `MODE`
                 all of `rows` rows of `columns` elements, or those of segments that `list_tiles` has listed. A row has fewer than
                 2^31 - 2^13 elements.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    TILE: constexpr(int) = (THREADS - 1) * ITEMS
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    total: int64 @ grid[1] = found[TILES] if MODE == SEGMENTS else (columns + (TILE - 1)) / TILE * rows
    with partition(target, thread[1], offset=lambda i: i, races="none") as place, group(block[1]):
        t: int32 @ thread[1] = id()
        for tile in range(here, total, blocks):
            row: int64 @ block[1] = 0
            within: int64 @ block[1] = 0
            row, within = owner_of(
                tile, columns, owners[tile] if MODE == SEGMENTS else int32(0), firsts[tile] if MODE == SEGMENTS else int32(0),
                MODE=MODE, TILE=TILE,
            )
            begin: int64 @ block[1] = 0
            length: int64 @ block[1] = 0
            begin, length = bounds_of(
                row, row + 1, int64(starts[row]) if MODE == SEGMENTS else int64(0), int64(ends[row]) if MODE == SEGMENTS else int64(0),
                columns, n, 1, n, MODE=MODE,
            )
            start: int32 @ block[1] = int32(within * TILE)
            size: int32 @ block[1] = int32(min(length - start, TILE))
            items: E[ITEMS] @ thread[1]
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = behind_all(E=E)
                    if k * THREADS < size - t:
                        column: int32 = start + k * THREADS + t
                        items[k] = pack(x[begin + column], column, U=U, E=E, DESCENDING=DESCENDING, FORM=FORM)
            block.sort_network(items, THREADS=THREADS, LESS=before, TOTAL=True)
            block.blocked_to_striped(items, THREADS=THREADS)
            with group(thread[1]):
                for k in range(ITEMS):
                    if k * THREADS < size - t:
                        place[begin + start + k * THREADS + t] = items[k]


@prism("global")
@template(E=dtype, O=dtype, TILE=constexpr(int), THREADS=constexpr(int), MODE=constexpr(int))
@requires(grid[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def cut_long_rows(
    source: ptr(const(E)) @ grid[1], cuts: ptr(int64) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1],
    owners: ptr(const(int32)) @ grid[1], firsts: ptr(const(int32)) @ grid[1], found: ptr(const(int64)) @ grid[1],
    rows: int64 @ grid[1], columns: int64 @ grid[1], n: int64 @ grid[1], capacity: int64 @ grid[1], width: int64 @ grid[1],
):
    """Put into `cuts[r * capacity + t]` how many elements of run `r` of its four, the last one aside, stand before tile `t`.

    Perspective: grid, of any number of threads.
    Shapes:      as of `merge_long_rows`.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    threads: int64 @ grid[1] = int64(count(thread[1]))
    total: int64 @ grid[1] = (columns + (TILE - 1)) / TILE * rows
    if MODE == SEGMENTS:
        total = found[TILES] if width < found[LONGEST] else int64(0)
    me: int64 @ thread[1] = id()
    with partition(cuts, thread[1], offset=lambda i: i, races="none") as cut, group(thread[1]):
        for tile in range(me, total, threads):
            row: int64 = 0
            within: int64 = 0
            row, within = owner_of(
                tile, columns, owners[tile] if MODE == SEGMENTS else int32(0), firsts[tile] if MODE == SEGMENTS else int32(0),
                MODE=MODE, TILE=TILE,
            )
            begin: int64 = 0
            length: int64 = 0
            begin, length = bounds_of(
                row, row + 1, int64(starts[row]) if MODE == SEGMENTS else int64(0), int64(ends[row]) if MODE == SEGMENTS else int64(0),
                columns, n, 1, n, MODE=MODE,
            )
            if width < length:
                share: int64 = 4 * width / TILE
                group_begin: int64 = within / share * (4 * width)
                lows: int64[4]
                cut_four(
                    source, begin + group_begin, width, min(length - group_begin, 4 * width), within % share * TILE, lows, LESS=before,
                )
                for r in range(3):
                    cut[tile + r * capacity] = lows[r]


@prism("global")
@template(
    T=dtype, E=dtype, V=dtype, I=dtype, O=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    DESCENDING=constexpr(bool), FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool), VALUES=constexpr(bool),
    MODE=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_long_rows(
    source: ptr(const(E)) @ grid[1], target: ptr(E) @ grid[1], cuts: ptr(const(int64)) @ grid[1], x: ptr(const(T)) @ grid[1],
    values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1], moved: ptr(V) @ grid[1],
    starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], owners: ptr(const(int32)) @ grid[1],
    firsts: ptr(const(int32)) @ grid[1], found: ptr(const(int64)) @ grid[1], rows: int64 @ grid[1], columns: int64 @ grid[1],
    n: int64 @ grid[1], capacity: int64 @ grid[1], width: int64 @ grid[1],
):
    """Merge sorted runs of `width` elements in each row that is longer, four at a time; where all are merged, write the result.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `sort_long_tiles`, which makes the first runs; `width`: as long as these, times a power of four. `source` to
                 `target`: what is sorted; or, in rows that `4 * width` is as long as, to what is written as of
                 `sort_rows_by_lanes`. `cuts`: as `cut_long_rows` makes them, `capacity` for each run.
    Cost:        each element is read once, and written once.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    TILE: constexpr(int) = (THREADS - 1) * ITEMS
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    total: int64 @ grid[1] = (columns + (TILE - 1)) / TILE * rows
    if MODE == SEGMENTS:
        total = found[TILES] if width < found[LONGEST] else int64(0)
    with partition(target, thread[1], offset=lambda i: i, races="none") as next_run, \
         partition(y, thread[1], offset=lambda i: i, races="none") as result, \
         partition(positions, thread[1], offset=lambda i: i, races="none") as place_target, \
         partition(moved, thread[1], offset=lambda i: i, races="none") as value_target, group(block[1]):
        t: int32 @ thread[1] = id()
        room: shared(E[THREADS * (ITEMS + 1)]) @ block[1]
        spots: shared(int32[1]) @ block[1]
        for tile in range(here, total, blocks):
            row: int64 @ block[1] = 0
            within: int64 @ block[1] = 0
            row, within = owner_of(
                tile, columns, owners[tile] if MODE == SEGMENTS else int32(0), firsts[tile] if MODE == SEGMENTS else int32(0),
                MODE=MODE, TILE=TILE,
            )
            begin: int64 @ block[1] = 0
            length: int64 @ block[1] = 0
            begin, length = bounds_of(
                row, row + 1, int64(starts[row]) if MODE == SEGMENTS else int64(0), int64(ends[row]) if MODE == SEGMENTS else int64(0),
                columns, n, 1, n, MODE=MODE,
            )
            if width < length:
                share: int64 @ block[1] = 4 * width / TILE
                start: int64 @ block[1] = within / share * (4 * width)
                whole: int64 @ block[1] = min(length - start, 4 * width)
                diagonal: int64 @ block[1] = within % share * TILE
                many: int32 @ block[1] = int32(min(whole - diagonal, TILE))
                heads: int32[4] @ block[1]
                sizes: int32[4] @ block[1]
                rest: int64 @ block[1] = diagonal
                left: int64 @ block[1] = diagonal + many
                for r in range(4):
                    first: int64 @ block[1] = cuts[r * capacity + tile] if r < 3 else rest
                    until: int64 @ block[1] = min(max(whole - r * width, 0), width)
                    if diagonal + TILE < whole:
                        until = cuts[r * capacity + tile + 1] if r < 3 else left
                    rest = rest - first
                    left = left - until
                    heads[r] = int32(start + r * width + first)
                    sizes[r] = int32(until - first)
                items: E[ITEMS] @ thread[1]
                places: int32[1] @ thread[1]
                with group(thread[1]):
                    for k in range(ITEMS):
                        items[k] = behind_all(E=E)
                with partition(source, block[1], offset=begin) as given:
                    merge_four(
                        given, heads, sizes, room, spots, items, places, ITEMS=ITEMS, THREADS=THREADS, LESS=before, PLACES=1,
                    )
                store_rows(room, items, t, False, ITEMS=ITEMS)
                with group(thread[1]):
                    at: int64 = begin + start + diagonal + t
                    for k in range(ITEMS):
                        if k * THREADS < many - t:
                            item: E = room[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]
                            if 4 * width < length:
                                next_run[at + k * THREADS] = item
                            else:
                                if KEYS == BACK:
                                    result[at + k * THREADS] = element_of(item, T=T, DESCENDING=DESCENDING)
                                if FORM != ALONE:
                                    there: int64 = begin + place_of(item)
                                    if KEYS == GATHERED:
                                        result[at + k * THREADS] = x[there]
                                    if VALUES:
                                        value_target[at + k * THREADS] = values[there]
                                    if PLACES:
                                        place_target[at + k * THREADS] = I(place_of(item))


_LONG = {"E": "uint64", "O": "int64", "MODE": ROWS}
EXAMPLES = {
    "list_tiles": {"O": "int64", "TILE": 4080, "THREADS": 256},
    "sort_long_tiles": _LONG | {
        "T": "float32", "U": "uint32", "ITEMS": 16, "THREADS": 256, "BLOCKS": 3, "DESCENDING": False, "FORM": PLACED,
    },
    "cut_long_rows": _LONG | {"TILE": 4080, "THREADS": 128},
    "merge_long_rows": _LONG | {
        "T": "float32", "V": "float32", "I": "int64", "ITEMS": 16, "THREADS": 256, "BLOCKS": 3, "DESCENDING": False, "FORM": PLACED,
        "KEYS": GATHERED, "PLACES": False, "VALUES": False,
    },
}
