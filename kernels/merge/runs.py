"""Sorted runs merged, two or four at a time: where each tile of the result begins in them, and then the tiles, by themselves.

A tile is not longer than a block's registers; the tiles of a group of runs begin where the group does.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread,
)
from prism.kernels.merge.rows import cut_four, load_two, merge_four, merge_rows, store_rows
from prism.lib.thread import operators


@prism("device")
@requires(thread[1])
@template(TILE=constexpr(int))
def pair_of(
    tile: int64 @ thread[1], width: int64 @ thread[1], n: int64 @ thread[1], middle: int64 @ thread[1]
) -> (int64, int64, int64, int64) @ thread[1]:
    """Of a tile: where its pair of runs begins, how long the runs are, and where in the pair the tile begins.

    `width` above 0: runs of so many elements lie side by side; else one pair, of which the first has `middle` of all `n`.
    """
    if width == 0:
        return int64(0), middle, n - middle, tile * TILE
    tiles: int64 = (2 * width + (TILE - 1)) / TILE
    begin: int64 = tile / tiles * (2 * width)
    one: int64 = min(width, n - begin)
    return begin, one, min(width, n - begin - one), tile % tiles * TILE


@prism("global")
@template(T=dtype, LESS=function, TILE=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def cut_runs(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], cuts: ptr(int64) @ grid[1], width: int64 @ grid[1],
    n: int64 @ grid[1], middle: int64 @ grid[1], tiles: int64 @ grid[1],
):
    """Put into `cuts[t]` how many elements of the first run of its pair stand before tile `t`.

    Perspective: grid, a thread for each of the `tiles`.
    Shapes:      as of `merge_tiles`.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/kernels/test_merge.py
    """
    me: int64 @ thread[1] = id()
    with partition(cuts, thread[1], offset=me) as mine, group(thread[1]):
        if me < tiles:
            begin: int64 = 0
            one: int64 = 0
            other: int64 = 0
            diagonal: int64 = 0
            begin, one, other, diagonal = pair_of(me, width, n, middle, TILE=TILE)
            second: int64 = begin + one if width > 0 else 0
            diagonal = min(diagonal, one + other)
            low: int64 = max(diagonal - other, 0)
            high: int64 = min(diagonal, one)
            while low < high:  # three elements of each run are asked for at once
                step: int64 = (high - low) / 4
                beyond: bool[3]
                for k in range(3):
                    place: int64 = low + (k + 1) * step
                    left: T = a[begin + place]
                    right: T = b[second + diagonal - 1 - place]
                    beyond[k] = LESS(right, left)
                start: int64 = low
                if beyond[0]:
                    high = start + step
                elif beyond[1]:
                    low = start + step + 1
                    high = start + 2 * step
                elif beyond[2]:
                    low = start + 2 * step + 1
                    high = start + 3 * step
                else:
                    low = start + 3 * step + 1
            mine[0] = low


@prism("global")
@template(T=dtype, LESS=function, TILE=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def cut_four_runs(
    x: ptr(const(T)) @ grid[1], cuts: ptr(int64) @ grid[1], width: int64 @ grid[1], n: int64 @ grid[1], tiles: int64 @ grid[1],
):
    """Put into `cuts[r * tiles + t]` how many elements of run `r` of its four, the last one aside, stand before tile `t`.

    Perspective: grid, a thread for each of the `tiles`.
    Shapes:      as of `merge_tiles`, with four `WAYS`.
    Test:        tests/kernels/test_merge.py
    """
    me: int64 @ thread[1] = id()
    with partition(cuts, thread[1], offset=lambda r: me + r * tiles, races="none") as mine, group(thread[1]):
        if me < tiles:
            share: int64 = (4 * width + (TILE - 1)) / TILE
            begin: int64 = me / share * (4 * width)
            diagonal: int64 = min(me % share * TILE, n - begin)
            lows: int64[4]
            cut_four(x, begin, width, min(n - begin, 4 * width), diagonal, lows, LESS=LESS)
            for r in range(3):
                mine[r] = lows[r]


@prism("global")
@template(
    T=dtype, V=dtype, N=dtype, LESS=function, VALUES=constexpr(bool), TOTAL=constexpr(bool), WAYS=constexpr(int),
    ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_tiles(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], a_values: ptr(const(V)) @ grid[1],
    b_values: ptr(const(V)) @ grid[1], y_values: ptr(V) @ grid[1], cuts: ptr(const(int64)) @ grid[1], width: int64 @ grid[1],
    n: int64 @ grid[1], middle: int64 @ grid[1], tiles: int64 @ grid[1], otherwise: T @ grid[1],
):
    """Merge sorted runs `WAYS` at a time, two or four, of equal elements those of the first run first; `VALUES` go along.

    Perspective: grid, a block for each of the `tiles`.
    Shapes:      `y`: `n` elements, memory of neither `a` nor `b`. `width` 0: `a` has `middle` elements, and `b` the others;
                 else both are the same `n` elements, in sorted runs of `width`, the last of which may be shorter. `LESS` is their
                 order; `TOTAL`: elements of which neither is less are the same in all bits. A tile has `THREADS * ITEMS`
                 elements, of four runs `ITEMS` less. `N`: int32, where no group of runs has 2^31 elements, or int64. `tiles`: of
                 each group of runs `ceil` of its length, or of `WAYS * width`, by
                 a tile. `cuts`: as `cut_runs` or `cut_four_runs` makes them. `otherwise`: any.
    Cost:        each element is read once, and written once.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple"; and of `merge_rows`.
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS - (ITEMS if WAYS == 4 else 0)
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    ROOM: constexpr(int) = THREADS * (ITEMS + 1)
    NUMBERED: constexpr(bool) = VALUES or not TOTAL
    PLACES: constexpr(int) = ITEMS if NUMBERED else 1
    number: int64 @ block[1] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as target, \
         partition(y_values, thread[1], offset=lambda i: i, races="none") as value_target, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(T[ROOM]) @ block[1]
        spots: shared(int32[ROOM if NUMBERED else 1]) @ block[1]
        share: int64 @ block[1] = (WAYS * width + (TILE - 1)) / TILE if width > 0 else tiles
        begin: int64 @ block[1] = number / share * (WAYS * width)
        diagonal: int64 @ block[1] = number % share * TILE
        ends: int64[WAYS] @ block[1]  # of the runs
        firsts: int64[WAYS] @ block[1]  # where the tile begins in them
        sizes: int32[WAYS] @ block[1]  # how many elements it has of each
        rest: int64 @ block[1] = diagonal
        for r in range(WAYS):
            ends[r] = min(max(n - begin - r * width, 0), width) if width > 0 else middle if r == 0 else n - middle
            firsts[r] = cuts[r * tiles + number] if r < WAYS - 1 else rest
            rest = rest - firsts[r]
        length: int64 @ block[1] = n - begin if width == 0 else min(n - begin, WAYS * width)
        many: int32 @ block[1] = int32(min(max(length - diagonal, 0), TILE))
        rest = diagonal + many
        for r in range(WAYS):
            until: int64 @ block[1] = ends[r]
            if diagonal + TILE < length:
                until = cuts[r * tiles + number + 1] if r < WAYS - 1 else rest
            rest = rest - until
            sizes[r] = int32(until - firsts[r]) if many > 0 else 0
        items: T[ITEMS] @ thread[1]
        numbers: int32[PLACES] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = otherwise
                if NUMBERED:
                    numbers[k] = 0
        if WAYS == 4:
            heads: N[WAYS] @ block[1]  # in the group
            for r in range(WAYS):
                heads[r] = N(r * width + firsts[r])
            with partition(a, block[1], offset=begin) as given:
                merge_four(
                    given, heads, sizes, tile, spots, items, numbers, ITEMS=ITEMS, THREADS=THREADS, LESS=LESS, PLACES=PLACES,
                )
        else:
            with partition(a, block[1], offset=begin + firsts[0]) as one, \
                 partition(b, block[1], offset=begin + width + firsts[1]) as other:
                load_two(one, sizes[0], other, sizes[1], tile, spots, ITEMS=ITEMS, THREADS=THREADS, NUMBERED=NUMBERED)
            merge_rows(
                tile, spots, 0, THREADS, sizes[0], sizes[1], items, numbers, ITEMS=ITEMS, THREADS=THREADS, LESS=LESS,
                PLACES=PLACES,
            )
        store_rows(tile, items, t, False, ITEMS=ITEMS)
        if VALUES:
            store_rows(spots, numbers, t, False, ITEMS=ITEMS)
        with group(thread[1]):
            at: int64 = begin + diagonal + t
            for k in range(ITEMS):
                if k * THREADS < many - t:
                    target[at + k * THREADS] = tile[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]
            if VALUES:
                for k in range(ITEMS):
                    if k * THREADS < many - t:
                        place: int32 = spots[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]
                        if place < sizes[0]:
                            value_target[at + k * THREADS] = a_values[begin + firsts[0] + place]
                        else:
                            place = place - sizes[0]
                            source: int64 = begin + width + firsts[1] + place
                            if WAYS == 4 and place >= sizes[1]:
                                place = place - sizes[1]
                                source = begin + 2 * width + firsts[2] + place
                                if place >= sizes[2]:
                                    source = begin + 3 * width + firsts[3] + (place - sizes[2])
                            value_target[at + k * THREADS] = b_values[source]


EXAMPLES = {
    "cut_runs": {"T": "float32", "LESS": operators.less, "TILE": 4096, "THREADS": 256},
    "cut_four_runs": {"T": "float32", "LESS": operators.less, "TILE": 4080, "THREADS": 256},
    "merge_tiles": {
        "T": "float32", "V": "int32", "N": "int32", "LESS": operators.less, "VALUES": False, "TOTAL": False, "WAYS": 4,
        "ITEMS": 16, "THREADS": 256, "BLOCKS": 4,
    },
}
