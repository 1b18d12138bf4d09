"""Where tiles of a merge begin in its two runs: of some first, and then of those between, which lie near.

A search is a chain of reads: it takes as long for a few tiles as for all, as long as these ask for few sectors of memory in all.
"""

from prism.lang import (
    attr, ballot, block, const, constexpr, dtype, float32, function, grid, group, id, int32, int64, partition, prism, ptr,
    requires, shuffle, shuffle_xor, sqrt, template, thread, uint32,
)
from prism.lib.thread import operators

GROUP = 8
"""Of so many tiles one is cut first, where there are many."""
LANES, TURNS = 8, 512
"""So many lanes look for a cut of four runs together, in fewer turns: in each a run is a third shorter, whatever the data are.

But an order that is none, or runs that are not sorted, may say that no element of theirs is before, or behind.
"""


@prism.device
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
    tiles: int64 = (2 * width + (TILE - 1)) // TILE
    begin: int64 = tile // tiles * (2 * width)
    one: int64 = min(width, n - begin)
    return begin, one, min(width, n - begin - one), tile % tiles * TILE


@prism.device
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
        step: int64 = (high - low) // (PROBES + 1)
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


@prism.kernel
@template(
    T=dtype, LESS=function, TILE=constexpr(int), WITHIN=constexpr(bool), THREADS=constexpr(int), PROBES=constexpr(int),
)
@requires(grid[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def cut_runs(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], known: ptr(const(int64)) @ grid[1], cuts: ptr(int64) @ grid[1],
    width: int64 @ grid[1], n: int64 @ grid[1], middle: int64 @ grid[1], tiles: int64 @ grid[1],
):
    """Put into `cuts[t]` how many elements of the first run of its pair stand before tile `t`.

    Perspective: grid, a thread for each of the `tiles`.
    Shapes:      as of `merge_tiles`; of each pair of runs `ceil` of its length, or of `2 * width`, by `TILE`. `WITHIN`: `known`
                 has the cuts of each `GROUP` tiles of a pair together, between which the others are looked for. `PROBES`: of
                 `cut_between`. Many are fewer steps, which helps where tiles are few; but each of them reads 64 bytes of memory.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
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
            least: int64 = max(diagonal - other, 0)
            most: int64 = min(diagonal, one)
            # Where it is if elements are spread evenly: in random runs it is seldom further off than this.
            likely: int64 = 0
            margin: int64 = 96
            if WITHIN:
                here: int64 = begin // max(2 * width, 1) * ((2 * width + (SPAN - 1)) // SPAN) + diagonal // SPAN
                start: int64 = diagonal // SPAN * SPAN
                end: int64 = min(start + SPAN, one + other)
                first: int64 = known[here]
                last: int64 = one
                if end < one + other:
                    last = known[here + 1]
                likely = first + (last - first) * (diagonal - start) // SPAN
                lowest: int64 = least  # of runs that are not sorted, or by no order, too
                least = min(max(max(first, diagonal - (end - last)), lowest), most)
                most = max(min(min(last, diagonal - (start - first)), most), lowest)
            else:
                likely = int64(float32(diagonal) / float32(one + other) * float32(one))
                margin = int64(sqrt(float32(one)))
            with partition(a, thread[1], offset=begin) as runs, \
                 partition(b, thread[1], offset=begin + one if width > 0 else 0) as others:
                mine[0] = cut_between(
                    runs, others, least, most, diagonal, likely, margin, LESS=LESS, PROBES=PROBES,
                )


@prism.device
@requires(thread[32])
@template(T=dtype, LESS=function)
def count_before(
    value: T @ thread[1], place: int64 @ thread[1], low: int64 @ thread[1], high: int64 @ thread[1],
) -> (int64, int64) @ thread[1]:
    """How many elements of four runs stand before a lane's own, at least and at most, where two lanes know an element of each.

    Lane `2 * r + j` of eight has element `place` of run `r`, which is one of those from `low` to `high`, or knows none.
    """
    lane: int32 @ thread[1] = id()
    base: int32 @ thread[1] = lane & 24
    run: int32 @ thread[1] = (lane & 7) // 2
    least: int64 @ thread[1] = 0
    most: int64 @ thread[1] = 0
    known: uint32 @ thread[32] = ballot(low < high)
    for r in range(4):
        first: T @ thread[1] = shuffle(value, base + 2 * r)
        second: T @ thread[1] = shuffle(value, base + 2 * r + 1)
        before: int32 @ thread[1] = 0  # of both
        with group(thread[1]):
            if known >> uint32(base + 2 * r) & 1 != 0 and low < high and r != run:
                if r < run:
                    before = (0 if LESS(value, first) else 1) + (0 if LESS(value, second) else 1)
                else:
                    before = (1 if LESS(first, value) else 0) + (1 if LESS(second, value) else 0)
        lowest: int64 @ thread[1] = shuffle(low, base + 2 * r)
        highest: int64 @ thread[1] = shuffle(high, base + 2 * r)
        below: int64 @ thread[1] = shuffle(place, base + 2 * r + max(before - 1, 0))
        above: int64 @ thread[1] = shuffle(place, base + 2 * r + min(before, 1))
        least = least + (place if r == run else lowest if before == 0 else below + 1)
        most = most + (place if r == run else highest if before == 2 else above)
    return least, most


@prism.device
@requires(thread[32])
@template(T=dtype, LESS=function)
def cut_four_by_lanes(
    x: ptr(const(T)) @ thread[32], begin: int64 @ thread[1], width: int64 @ thread[1], length: int64 @ thread[1],
    diagonal: int64 @ thread[1],
) -> int64 @ thread[1]:
    """How many of the first `diagonal` elements of the merge of four sorted runs are of run `r`: in lanes `2 * r`, and the next.

    Eight lanes look for it, for four merges a warp. The runs lie side by side from `x[begin]` on, of `width` elements each, and
    of `length` together, so the last ones may be shorter. Two elements of each run are compared with those of the others. That
    says of some that they are among the first, and of some that they are not: of the last of the later ones, or of the first of
    the others, at any rate. At first they are a little before, and behind, where the end would be if elements were spread evenly.
    """
    lane: int32 @ thread[1] = id()
    run: int32 @ thread[1] = (lane & 7) // 2
    later: bool @ thread[1] = lane & 1 != 0
    low: int64 @ thread[1] = 0
    high: int64 @ thread[1] = min(max(length - run * width, 0), width)
    turn: int32 @ thread[32] = 0
    open: uint32 @ thread[32] = ballot(low < high)
    while open != 0 and turn < TURNS:
        size: int64 @ thread[1] = high - low
        place: int64 @ thread[1] = low + (2 * size // 3 if later else size // 3)
        if turn < 4:
            below: int64 @ thread[1] = low + shuffle_xor(low, 2)
            all: int64 @ thread[1] = size + shuffle_xor(size, 2)
            below = below + shuffle_xor(below, 4)
            all = all + shuffle_xor(all, 4)
            with group(thread[1]):
                if size > 16:
                    part: float32 = float32(diagonal - below) / float32(all) * float32(size)
                    margin: float32 = sqrt(float32(size))
                    place = low + min(max(int64(part + margin if later else part - margin), 0), size - 1)
        turn = turn + 1
        value: T @ thread[1] = x[begin + min(run * width + place, length - 1)]
        least: int64 @ thread[1] = 0
        most: int64 @ thread[1] = 0
        least, most = count_before(value, place, low, high, LESS=LESS)
        up: int64 @ thread[1] = place + 1 if low < high and most < diagonal else low
        down: int64 @ thread[1] = place if low < high and least >= diagonal else high
        low = max(up, shuffle_xor(up, 1))
        high = min(down, shuffle_xor(down, 1))
        open = ballot(low < high)
    found: int64 @ thread[1] = 0
    taken: int64 @ thread[1] = 0
    for r in range(4):  # together `diagonal`, and of no run more than it has, whatever the order says
        here: int64 @ thread[1] = shuffle(low, (lane & 24) + 2 * r)
        most_here: int64 @ thread[1] = min(min(max(length - r * width, 0), width), diagonal - taken)
        here = min(max(here, diagonal - taken - max(length - (r + 1) * width, 0)), most_here)
        taken = taken + here
        found = here if r == run else found
    return found


@prism.kernel
@template(T=dtype, LESS=function, TILE=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def cut_four_runs(
    x: ptr(const(T)) @ grid[1], cuts: ptr(int64) @ grid[1], width: int64 @ grid[1], n: int64 @ grid[1], tiles: int64 @ grid[1],
):
    """Put into `cuts[r * tiles + t]` how many elements of run `r` of its four, the last one aside, stand before tile `t`.

    Perspective: grid, eight threads for each of the `tiles`.
    Shapes:      as of `merge_fours`.
    Test:        tests/kernels/test_merge.py
    """
    here: int64 @ block[1] = id()
    with partition(cuts, thread[1], offset=lambda i: i, races="none") as out, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[32]):
            tile: int64 @ thread[1] = min((here * THREADS + t) // 8, tiles - 1)
            share: int64 @ thread[1] = (4 * width + (TILE - 1)) // TILE
            begin: int64 @ thread[1] = tile // share * (4 * width)
            diagonal: int64 @ thread[1] = min(tile % share * TILE, n - begin)
            found: int64 @ thread[1] = cut_four_by_lanes(
                x, begin, width, min(n - begin, 4 * width), diagonal, LESS=LESS,
            )
            with group(thread[1]):
                if t % 2 == 0 and t % 8 < 6 and (here * THREADS + t) // 8 < tiles:
                    out[t % 8 // 2 * tiles + tile] = found


EXAMPLES = {
    "cut_runs": {"T": "float32", "LESS": operators.less, "TILE": 3840, "WITHIN": True, "THREADS": 256},
    "cut_four_runs": {"T": "float32", "LESS": operators.less, "TILE": 4080, "THREADS": 256},
}
