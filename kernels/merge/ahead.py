"""Two arrays merged in two launches: the first blocks of the one look for the cuts of the other's tiles.

A search is a chain of reads that takes longer than a tile is merged. Of a long merge only the first tiles wait for it: theirs are
found by a launch before, with those of each `SPAN` tiles.
"""

from prism.lang import (
    attr, ballot, block, const, constexpr, dtype, float32, function, grid, group, id, int32, int64, partition, popcount, prism,
    ptr, requires, sqrt, template, thread, uint32,
)
from prism.kernels.merge.cuts import cut_between
from prism.kernels.merge.keys import merge_tile
from prism.kernels.merge.runs import merge_pairs_of_tile
from prism.lib.thread import operators

SPAN = 32
"""Of so many tiles one is cut first."""


@prism.device
@requires(thread[32])
@template(T=dtype, LANES=constexpr(int), LESS=function)
def cut_by_lanes(
    a: ptr(const(T)) @ thread[32], b: ptr(const(T)) @ thread[32], n: int64 @ thread[32], middle: int64 @ thread[32],
    diagonal: int64 @ thread[1],
) -> int64 @ thread[1]:
    """How many of the first `diagonal` elements of the merge are of `a`: `LANES` lanes look for it, at as many places at once.

    First about where it is if elements are spread evenly: in random arrays it is seldom further off.
    """
    lane: int32 @ thread[1] = id()
    mine: int32 @ thread[1] = lane % LANES
    shift: uint32 @ thread[1] = uint32(lane - mine)
    low: int64 @ thread[1] = max(diagonal - (n - middle), 0)
    high: int64 @ thread[1] = min(diagonal, middle)
    likely: int64 @ thread[1] = int64(float32(diagonal) / float32(n) * float32(middle))
    margin: int64 @ thread[1] = int64(sqrt(float32(middle)))
    start: int64 @ thread[1] = min(max(likely - margin, low), high)
    end: int64 @ thread[1] = min(max(likely + margin, low), high)
    open: uint32 @ thread[32] = ballot(low < high)
    while open != 0:
        step: int64 @ thread[1] = max((end - start) // (LANES - 1), 1)
        place: int64 @ thread[1] = max(min(start + mine * step, high - 1), 0)
        ahead: bool @ thread[1] = False
        with group(thread[1]):
            if low < high:
                ahead = not LESS(b[diagonal - 1 - place], a[place])
        found: uint32 @ thread[32] = ballot(ahead)
        before: int32 @ thread[1] = int32(popcount(found >> shift & (1 << LANES) - 1))  # of sorted arrays: places before the cut
        with group(thread[1]):
            if low < high:
                last: int64 = min(start + (before - 1) * step, high - 1)
                next: int64 = min(start + before * step, high - 1)
                low = max(low, last + 1) if before > 0 else low
                high = min(high, next) if before < LANES else high
                start = low
                end = high
        open = ballot(low < high)
    return low


@prism.kernel
@template(T=dtype, LESS=function, TILE=constexpr(int), LANES=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def cut_first(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], known: ptr(int64) @ grid[1], cuts: ptr(int64) @ grid[1],
    n: int64 @ grid[1], middle: int64 @ grid[1], early: int64 @ grid[1], some: int64 @ grid[1],
):
    """Put into `known[s]` how many elements of `a` stand before tile `s * SPAN`, and into `cuts` the same of the first tiles.

    Perspective: grid, `LANES` threads for each of `early + some`.
    Shapes:      `a`: `middle` elements, `b`: the others of `n`, both in the order of `LESS`.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/kernels/test_merge_ahead.py
    """
    here: int64 @ block[1] = id()
    with partition(known, block[1], offset=lambda i: i, races="none") as all, \
         partition(cuts, block[1], offset=lambda i: i, races="none") as firsts, group(block[1]):
        t: int32 @ thread[1] = id()
        with partition(all, thread[1], offset=lambda i: i, races="none") as own, \
             partition(firsts, thread[1], offset=lambda i: i, races="none") as first, group(thread[32]):
            number: int64 @ thread[1] = (here * THREADS + t) // LANES
            diagonal: int64 @ thread[1] = min((number if number < early else min(number - early, some) * SPAN) * TILE, n)
            found: int64 @ thread[1] = cut_by_lanes(a, b, n, middle, diagonal, LANES=LANES, LESS=LESS)
            with group(thread[1]):
                if t % LANES == 0:
                    if number < early:
                        first[number] = found
                    elif number < early + some:
                        own[number - early] = found


@prism.device
@requires(thread[1])
@template(T=dtype, TILE=constexpr(int), LESS=function)
def cut_near(
    a: ptr(const(T)) @ thread[1], b: ptr(const(T)) @ thread[1], known: ptr(const(int64)) @ thread[1], n: int64 @ thread[1],
    middle: int64 @ thread[1], tile: int64 @ thread[1],
) -> int64 @ thread[1]:
    """How many elements of `a` stand before a tile, by where each `SPAN` tiles begin."""
    diagonal: int64 = tile * TILE
    start: int64 = tile // SPAN * (SPAN * TILE)
    end: int64 = min(start + SPAN * TILE, n)
    first: int64 = known[tile // SPAN]
    last: int64 = middle
    if end < n:
        last = known[tile // SPAN + 1]
    lowest: int64 = max(diagonal - (n - middle), 0)
    highest: int64 = min(diagonal, middle)
    least: int64 = min(max(max(first, diagonal - (end - last)), lowest), highest)  # of runs that are not sorted, too
    most: int64 = max(min(min(last, diagonal - (start - first)), highest), lowest)
    likely: int64 = first + (last - first) * (diagonal - start) // (end - start)
    return cut_between(a, b, least, most, diagonal, likely, int64(192), LESS=LESS, PROBES=1)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, TILE=constexpr(int), THREADS=constexpr(int), LESS=function)
def cut_tiles(
    a: ptr(const(T)) @ block[1], b: ptr(const(T)) @ block[1], known: ptr(const(int64)) @ block[1], cuts: ptr(int64) @ block[1],
    n: int64 @ block[1], middle: int64 @ block[1], tiles: int64 @ block[1], begin: int64 @ block[1],
):
    """Look for the cuts of `THREADS` of the `tiles` from `begin` on."""
    t: int32 @ thread[1] = id()
    with partition(cuts, thread[1], offset=begin + t) as own, group(thread[1]):
        if begin + t < tiles:
            own[0] = cut_near(a, b, known, n, middle, begin + t, TILE=TILE, LESS=LESS)


@prism.kernel
@template(T=dtype, LESS=function, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_keys_ahead(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], known: ptr(const(int64)) @ grid[1],
    firsts: ptr(const(int64)) @ grid[1], cuts: ptr(int64) @ grid[1], n: int64 @ grid[1], middle: int64 @ grid[1],
    tiles: int64 @ grid[1], early: int64 @ grid[1], cutters: int32 @ grid[1], otherwise: T @ grid[1],
):
    """Merge the first tiles of two sorted arrays, and look for where the others begin, for `merge_keys`.

    Perspective: grid, of `cutters` blocks, which put the cuts of all `tiles` but the first `early` into `cuts`, and a block for
                 each of the first.
    Shapes:      as of `merge_keys`. `known`, `firsts`: as `cut_first` has left them, with one cut more than tiles are merged.
    Cost:        each element is read once, and written once.
    Source:      as of `merge_rows`.
    Test:        tests/kernels/test_merge_ahead.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    number: int32 @ block[1] = id()
    tile: int64 @ block[1] = max(number - cutters, 0)
    with partition(cuts, block[1], offset=lambda i: i, races="none") as all, \
         partition(y, block[1], offset=tile * TILE, races="none") as part, group(block[1]):
        if number < cutters:
            cut_tiles(a, b, known, all, n, middle, tiles, early + number * THREADS, TILE=TILE, THREADS=THREADS, LESS=LESS)
        else:
            many: int32 @ block[1] = int32(min(n - tile * TILE, TILE))
            first: int64 @ block[1] = firsts[tile]
            until: int64 @ block[1] = firsts[tile + 1]
            size_a: int32 @ block[1] = int32(min(max(until - first, 0), int64(many)))  # sorted or not
            with partition(a, block[1], offset=first) as one, partition(b, block[1], offset=tile * TILE - first) as other:
                merge_tile(one, other, part, size_a, many, otherwise, ITEMS=ITEMS, THREADS=THREADS, LESS=LESS)


@prism.kernel
@template(
    T=dtype, V=dtype, LESS=function, VALUES=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_ahead(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], a_values: ptr(const(V)) @ grid[1],
    b_values: ptr(const(V)) @ grid[1], y_values: ptr(V) @ grid[1], known: ptr(const(int64)) @ grid[1],
    firsts: ptr(const(int64)) @ grid[1], cuts: ptr(int64) @ grid[1], n: int64 @ grid[1], middle: int64 @ grid[1],
    tiles: int64 @ grid[1], early: int64 @ grid[1], cutters: int32 @ grid[1], otherwise: T @ grid[1], nothing: V @ grid[1],
):
    """Merge the first tiles of two sorted arrays, and look for where the others begin, for `merge_tiles`.

    Perspective: as of `merge_keys_ahead`.
    Shapes:      as of `merge_tiles`, of two arrays. `known`, `firsts`: as of `merge_keys_ahead`.
    Cost:        each element is read once, and written once.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/kernels/test_merge_ahead.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    number: int32 @ block[1] = id()
    tile: int64 @ block[1] = max(number - cutters, 0)
    with partition(cuts, block[1], offset=lambda i: i, races="none") as all, \
         partition(y, block[1], offset=tile * TILE, races="none") as part, \
         partition(y_values, block[1], offset=tile * TILE if VALUES else 0, races="none") as value_part, group(block[1]):
        if number < cutters:
            cut_tiles(a, b, known, all, n, middle, tiles, early + number * THREADS, TILE=TILE, THREADS=THREADS, LESS=LESS)
        else:
            many: int32 @ block[1] = int32(min(n - tile * TILE, TILE))
            first: int64 @ block[1] = firsts[tile]
            until: int64 @ block[1] = firsts[tile + 1]
            taken: int32 @ block[1] = int32(min(max(until - first, 0), int64(many)))  # whatever `LESS` says
            after: int64 @ block[1] = tile * TILE - first
            with partition(a, block[1], offset=first) as left, partition(b, block[1], offset=after) as right, \
                 partition(a_values, block[1], offset=first if VALUES else 0) as left_values, \
                 partition(b_values, block[1], offset=after if VALUES else 0) as right_values:
                merge_pairs_of_tile(
                    left, right, part, left_values, right_values, value_part, taken, many, otherwise, nothing, LESS=LESS,
                    VALUES=VALUES, ITEMS=ITEMS, THREADS=THREADS,
                )


EXAMPLES = {
    "cut_first": {"T": "int32", "LESS": operators.less, "TILE": 4096, "LANES": 8, "THREADS": 128},
    "merge_keys_ahead": {"T": "int32", "LESS": operators.less, "ITEMS": 16, "THREADS": 256, "BLOCKS": 4},
    "merge_ahead": {
        "T": "float32", "V": "int32", "LESS": operators.less, "VALUES": True, "ITEMS": 15, "THREADS": 256, "BLOCKS": 4,
    },
}
