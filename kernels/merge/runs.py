"""Sorted runs merged, two or four at a time: where each tile of the result begins in them, and then the tiles, by themselves.

A tile is not longer than a block's registers; the tiles of a group of runs begin where the group does.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, float32, function, grid, group, id, int32, int64, partition, prism, ptr, requires, shared, sqrt,
    template, thread,
)
from prism.kernels.merge.cuts import GROUP, cut_tile
from prism.kernels.merge.places import put_row, put_striped, store_places
from prism.kernels.merge.rows import cut_four
from prism.lib.block.sort import load_runs, merge_within
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
    Shapes:      as of `merge_tiles`; of each pair of runs `ceil` of its length, or of `2 * width`, by `TILE`.
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
            # First about where it is if elements are spread evenly: in random runs it is seldom further off than this.
            likely: int64 = int64(float32(diagonal) / float32(one + other) * float32(one))
            margin: int64 = int64(sqrt(float32(one)))
            while low < high:  # three elements of each run are asked for at once
                step: int64 = (high - low) / 4
                start: int64 = low
                if step > 2 * margin and margin > 0:
                    step = margin
                    start = min(max(likely - 2 * margin, low), high - 4 * margin)
                    margin = 0
                beyond: bool[3]
                for k in range(3):
                    place: int64 = start + (k + 1) * step
                    left: T = a[begin + place]
                    right: T = b[second + diagonal - 1 - place]
                    beyond[k] = LESS(right, left)
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
    Shapes:      as of `merge_keys`, with four `WAYS`.
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
    T=dtype, V=dtype, LESS=function, VALUES=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
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
                 `cuts`: as `cut_runs` makes them, of `GROUP` tiles together. `otherwise`, `nothing`: any.
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
        first: int64 @ block[1] = 0
        until: int64 @ block[1] = 0
        share: int64 @ block[1] = (2 * width + (GROUP * TILE - 1)) / (GROUP * TILE)  # of a pair's cuts
        with partition(a, block[1], offset=begin) as runs, partition(b, block[1], offset=second) as others, \
             partition(cuts, block[1], offset=begin / max(2 * width, 1) * share) as known:
            first, until = cut_tile(runs, others, known, diagonal / TILE, one, other, TILE=TILE, LESS=LESS)
        taken: int32 @ block[1] = int32(until - first)
        keys: T[ITEMS] @ thread[1]
        values: V[ITEMS if VALUES else 1] @ thread[1]
        places: int32[ITEMS] @ thread[1]
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
            merge_within(tile, 0, taken, many, t * ITEMS, keys, places, otherwise, SIZE=TILE, LESS=LESS)
            if VALUES:
                for k in range(ITEMS):
                    values[k] = moved[places[k]]
        put_row(tile, keys, t * ITEMS, TILE)
        if VALUES:
            put_row(moved, values, t * ITEMS, TILE)
        store_places(target, tile, many, ITEMS=ITEMS, THREADS=THREADS)
        if VALUES:
            store_places(value_target, moved, many, ITEMS=ITEMS, THREADS=THREADS)


EXAMPLES = {
    "cut_runs": {"T": "float32", "LESS": operators.less, "TILE": 3840, "THREADS": 256},
    "cut_four_runs": {"T": "float32", "LESS": operators.less, "TILE": 4080, "THREADS": 256},
    "merge_tiles": {
        "T": "float32", "V": "int32", "LESS": operators.less, "VALUES": False, "ITEMS": 15, "THREADS": 256, "BLOCKS": 4,
    },
}
