"""Where tiles of a merge begin in its two runs: of some first, and then of those between, which lie near.

A search is a chain of reads: it takes as long for a few tiles as for all, as long as these ask for few sectors of memory in all.
"""

from prism.lang import (
    attr, const, constexpr, dtype, float32, function, grid, group, id, int64, partition, prism, ptr, requires, sqrt, template,
    thread,
)
from prism.lib.thread import operators

GROUP = 8
"""Of so many tiles one is cut first, where there are many."""


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


@prism("device")
@requires(thread[1])
@template(T=dtype, LESS=function, PROBES=constexpr(int))
def cut_between(
    a: ptr(const(T)) @ thread[1], b: ptr(const(T)) @ thread[1], least: int64 @ thread[1], most: int64 @ thread[1],
    diagonal: int64 @ thread[1], likely: int64 @ thread[1], margin: int64 @ thread[1],
) -> int64 @ thread[1]:
    """How many of the first `diagonal` elements of the merge of two sorted runs are of the first one: from `least` to `most`.

    It is looked for within `margin` of `likely` first; then `PROBES` places are looked at at once.
    """
    low: int64 = least
    high: int64 = most
    if high - low > 8 * margin:
        for k in range(2):
            place: int64 = min(max(likely + (margin if k > 0 else -margin), least), most - 1)
            left: T = a[place]
            right: T = b[diagonal - 1 - place]
            beyond: bool = LESS(right, left)
            low = low if beyond else max(low, place + 1)
            high = min(high, place) if beyond else high
    while low < high:
        step: int64 = (high - low) / (PROBES + 1)
        start: int64 = low
        end: int64 = high
        lefts: T[PROBES]
        rights: T[PROBES]
        for k in range(PROBES):  # all are asked for before any is compared
            lefts[k] = a[start + (k + 1) * step]
            rights[k] = b[diagonal - 1 - (start + (k + 1) * step)]
        for k in range(PROBES):
            place: int64 = start + (k + 1) * step
            beyond: bool = LESS(rights[k], lefts[k])
            low = low if beyond else max(low, place + 1)
            end = min(end, place) if beyond else end
        high = end
    return low


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
            diagonal = min(diagonal, one + other)
            # Where it is if elements are spread evenly: in random runs it is seldom further off than this.
            likely: int64 = int64(float32(diagonal) / float32(one + other) * float32(one))
            with partition(a, thread[1], offset=begin) as first, \
                 partition(b, thread[1], offset=begin + one if width > 0 else 0) as second:
                mine[0] = cut_between(
                    first, second, max(diagonal - other, 0), min(diagonal, one), diagonal, likely, int64(sqrt(float32(one))),
                    LESS=LESS, PROBES=7,
                )


@prism("global")
@template(T=dtype, LESS=function, TILE=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def cut_within(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], known: ptr(const(int64)) @ grid[1], cuts: ptr(int64) @ grid[1],
    width: int64 @ grid[1], n: int64 @ grid[1], middle: int64 @ grid[1], tiles: int64 @ grid[1],
):
    """Put into `cuts[t]` what `cut_runs` does, where it has put into `known` that of each `GROUP` tiles of a pair together.

    Perspective: grid, a thread for each of the `tiles`.
    Shapes:      as of `cut_runs`.
    Test:        tests/kernels/test_merge.py
    """
    SPAN: constexpr(int) = GROUP * TILE
    me: int64 @ thread[1] = id()
    with partition(cuts, thread[1], offset=me) as mine, group(thread[1]):
        if me < tiles:
            begin: int64 = 0
            one: int64 = 0
            other: int64 = 0
            diagonal: int64 = 0
            begin, one, other, diagonal = pair_of(me, width, n, middle, TILE=TILE)
            diagonal = min(diagonal, one + other)
            here: int64 = begin / max(2 * width, 1) * ((2 * width + (SPAN - 1)) / SPAN) + diagonal / SPAN
            start: int64 = diagonal / SPAN * SPAN
            end: int64 = min(start + SPAN, one + other)
            first: int64 = known[here]
            last: int64 = one
            if end < one + other:
                last = known[here + 1]
            lowest: int64 = max(diagonal - other, 0)  # of runs that are not sorted, or by no order, too
            highest: int64 = min(diagonal, one)
            least: int64 = min(max(max(first, diagonal - (end - last)), lowest), highest)
            most: int64 = max(min(min(last, diagonal - (start - first)), highest), lowest)
            with partition(a, thread[1], offset=begin) as runs, \
                 partition(b, thread[1], offset=begin + one if width > 0 else 0) as others:
                mine[0] = cut_between(
                    runs, others, least, most, diagonal, first + (last - first) * (diagonal - start) / SPAN, 96, LESS=LESS,
                    PROBES=3,
                )


EXAMPLES = {
    name: {"T": "float32", "LESS": operators.less, "TILE": 3840, "THREADS": 256} for name in ("cut_runs", "cut_within")
}
