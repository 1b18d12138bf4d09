"""The pieces of work that long rows and segments are sorted by: a list of tiles, tiles sorted, cuts, and four runs merged."""

from prism.lang import (
    block, const, constexpr, dtype, group, id, int32, int64, partition, prism, ptr, requires, shared, template, thread,
)
from prism.kernels.merge.cuts import cut_four_by_lanes
from prism.kernels.merge.rows import merge_four, store_rows
from prism.kernels.sort_rows.elements import ALONE, before, element_of, pack, place_of
from prism.kernels.sort_rows.segments import BACK, GATHERED, SEGMENTS, bounds_of
from prism.lib.thread import operators

TILES, LONGEST = range(2)
"""What a block finds of segments for the others: how many tiles they have, and how long the longest is."""
LIST, TILE_SORTED, CUT, MERGED = range(4)
"""The steps: a list of tiles; tiles sorted; and, of each pass, where tiles of four runs begin, and their merges."""
CUTTERS = 8
"""Threads that look for where a tile begins."""


@prism.device
@requires(thread[1])
@template(MODE=constexpr(int), TILE=constexpr(int))
def owner_of(tile: int64 @ thread[1], columns: int64 @ thread[1], owner: int32 @ thread[1], first: int32 @ thread[1]) -> (
    int64, int64
) @ thread[1]:
    """Which row or segment a tile is of, and which of its tiles it is; `owner`, `first`: what is said of a segment's."""
    if MODE == SEGMENTS:
        return int64(owner), tile - first
    share: int64 = (columns + (TILE - 1)) // TILE
    return tile // share, tile % share


@prism.device
@requires(thread[1])
@template(BEFORE=constexpr(int), TILE=constexpr(int), THREADS=constexpr(int))
def step_of(piece: int64 @ thread[1], tiles: int64 @ thread[1]) -> (int32, int64, int64, int64, int64) @ thread[1]:
    """The step of a piece, which one of the step it is, how many are done before, the width of runs, and which half they are in.

    First come `BEFORE` pieces of `LIST`, then `tiles` of `TILE_SORTED`; then in each pass those of `CUT` and of `MERGED`.
    """
    step: int32 = LIST
    part: int64 = 0
    wanted: int64 = 0
    width: int64 = TILE
    half: int64 = 0
    if piece >= BEFORE:
        step = TILE_SORTED
        part = piece - BEFORE
        wanted = BEFORE
        if part >= tiles:
            cutting: int64 = (tiles + (THREADS // CUTTERS - 1)) // (THREADS // CUTTERS)
            turn: int64 = (part - tiles) // (tiles + cutting)
            part = (part - tiles) % (tiles + cutting)
            wanted = BEFORE + tiles + turn * (tiles + cutting)
            step = CUT
            if part >= cutting:
                part = part - cutting
                wanted = wanted + cutting
                step = MERGED
            half = turn % 2
            for earlier in range(turn):
                width = 4 * width
    return step, part, wanted, width, half


@prism.device
@requires(block[1], thread[32])
@template(O=dtype, TILE=constexpr(int), THREADS=constexpr(int))
def list_tiles(
    starts: ptr(const(O)) @ block[1], ends: ptr(const(O)) @ block[1], listed: ptr(const(int32)) @ block[1],
    many: int32 @ block[1], owners: ptr(int32) @ block[1], firsts: ptr(int32) @ block[1], found: ptr(int64) @ block[1],
    n: int64 @ block[1], capacity: int64 @ block[1],
):
    """List the tiles of `many` segments: `owners` gets the number of each one's segment, `firsts` of that segment's first tile.

    `found[TILES]` becomes their number, and `found[LONGEST]` the length of the longest segment. There is room for `capacity`
    tiles, more than segments come to that have no element in common.
    """
    with partition(owners, thread[1], offset=lambda i: i, races="none") as owner, \
         partition(firsts, thread[1], offset=lambda i: i, races="none") as first, \
         partition(found, thread[1], offset=lambda i: i, races="none") as told:
        t: int32 @ thread[1] = id()
        heads: shared(int32[THREADS]) @ block[1]  # where the tiles of each segment begin
        names: shared(int32[THREADS]) @ block[1]
        longest: int64 @ thread[1] = 0
        tiles: int32 @ block[1] = 0
        for turn in range(0, many, THREADS):
            s: int32 @ thread[1] = -1
            head: int32[1] @ thread[1]
            with group(thread[1]):
                head[0] = 0
                if turn + t < many:
                    s = listed[turn + t]
                    begin: int64 = 0
                    length: int64 = 0
                    begin, length = bounds_of(
                        int64(s), int64(s) + 1, int64(starts[s]), int64(ends[s]), 0, n, 1, n, MODE=SEGMENTS,
                    )
                    head[0] = int32((length + (TILE - 1)) // TILE)
                    longest = max(longest, length)
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


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, U=dtype, E=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), DESCENDING=constexpr(bool), FORM=constexpr(int),
)
def sort_tile(
    x: ptr(const(T)) @ block[1], runs: ptr(E) @ block[1], begin: int64 @ block[1], length: int64 @ block[1],
    within: int64 @ block[1], items: E[ITEMS] @ thread[1],
):
    """Sort tile `within` of the row of `length` elements from `x[begin]` on, into the same place of `runs`.

    `items`: what is behind all elements. Made here instead, it costs 200 bytes of spills more where elements have 16 bytes.
    """
    TILE: constexpr(int) = (THREADS - 1) * ITEMS
    t: int32 @ thread[1] = id()
    start: int32 @ block[1] = int32(within * TILE)
    size: int32 @ block[1] = int32(min(length - start, TILE))
    with group(thread[1]):
        for k in range(ITEMS):
            if k * THREADS < size - t:
                column: int32 = start + k * THREADS + t
                items[k] = pack(x[begin + column], column, U=U, E=E, DESCENDING=DESCENDING, FORM=FORM)
    block.sort_network(items, THREADS=THREADS, LESS=before, TOTAL=True)
    block.blocked_to_striped(items, THREADS=THREADS)
    with partition(runs, thread[1], offset=lambda i: begin + start + t + i, races="none") as own, group(thread[1]):
        for k in range(ITEMS):
            if k * THREADS < size - t:
                own[k * THREADS] = items[k]


@prism.device
@requires(block[1], thread[32])
@template(E=dtype, O=dtype, MODE=constexpr(int), TILE=constexpr(int), THREADS=constexpr(int))
def cut_tiles(
    runs: ptr(const(E)) @ block[1], cuts: ptr(int64) @ block[1], owners: ptr(const(int32)) @ block[1],
    firsts: ptr(const(int32)) @ block[1], starts: ptr(const(O)) @ block[1], ends: ptr(const(O)) @ block[1],
    columns: int64 @ block[1], n: int64 @ block[1], capacity: int64 @ block[1], tiles: int64 @ block[1], part: int64 @ block[1],
    width: int64 @ block[1],
):
    """Find where tiles `part * THREADS / CUTTERS` and on of `tiles` begin in the four runs that they are merged of.

    Of the first three runs: `cuts[tile + r * capacity]` becomes how many elements of run `r` stand before the tile.
    """
    t: int32 @ thread[1] = id()
    with partition(cuts, thread[1], offset=lambda i: i, races="none") as own, group(thread[32]):
        wanted: int64 @ thread[1] = part * (THREADS // CUTTERS) + t // CUTTERS
        tile: int64 @ thread[1] = min(wanted, tiles - 1)
        row: int64 @ thread[1] = 0
        within: int64 @ thread[1] = 0
        row, within = owner_of(
            tile, columns, owners[tile] if MODE == SEGMENTS else int32(0), firsts[tile] if MODE == SEGMENTS else int32(0),
            MODE=MODE, TILE=TILE,
        )
        begin: int64 @ thread[1] = 0
        length: int64 @ thread[1] = 0
        begin, length = bounds_of(
            row, row + 1, int64(starts[row]) if MODE == SEGMENTS else int64(0),
            int64(ends[row]) if MODE == SEGMENTS else int64(0), columns, n, 1, n, MODE=MODE,
        )
        share: int64 @ thread[1] = 4 * width // TILE
        place: int64 @ thread[1] = within // share * (4 * width)
        found: int64 @ thread[1] = cut_four_by_lanes(
            runs, begin + place, width, min(length - place, 4 * width), within % share * TILE, LESS=before,
        )
        with group(thread[1]):
            if wanted < tiles and width < length and t % 2 == 0 and t % CUTTERS < 6:
                own[tile + t % CUTTERS // 2 * capacity] = found


@prism.device
@requires(block[1], thread[32])
@template(E=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def merge_tile(
    runs: ptr(const(E)) @ block[1], bounds: ptr(const(int64)) @ block[1], room: ptr(E) @ block[1], start: int64 @ block[1],
    whole: int64 @ block[1], diagonal: int64 @ block[1], width: int64 @ block[1], items: E[ITEMS] @ thread[1],
):
    """Merge into the rows of `room` what belongs into the tile from element `diagonal` on of four runs of `width` elements.

    The runs lie side by side from `runs[start]` on, of `whole` elements together. `bounds`: where the tile begins in the first
    three, and where the following one does. `items`: as of `sort_tile`.
    """
    TILE: constexpr(int) = (THREADS - 1) * ITEMS
    heads: int32[4] @ block[1]
    sizes: int32[4] @ block[1]
    rest: int64 @ block[1] = diagonal
    left: int64 @ block[1] = diagonal + min(whole - diagonal, TILE)
    for r in range(4):
        first: int64 @ block[1] = bounds[r] if r < 3 else rest
        until: int64 @ block[1] = min(max(whole - r * width, 0), width)
        if diagonal + TILE < whole:
            until = bounds[3 + r] if r < 3 else left
        rest = rest - first
        left = left - until
        heads[r] = int32(start + r * width + first)
        sizes[r] = int32(until - first)
    merge_four(runs, heads, sizes, room, items, ITEMS=ITEMS, THREADS=THREADS, LESS=before)
    store_rows(room, items, id(), False, ITEMS=ITEMS)


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, E=dtype, V=dtype, I=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), DESCENDING=constexpr(bool),
    FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool), VALUES=constexpr(bool),
)
def write_tile(
    room: ptr(const(E)) @ block[1], x: ptr(const(T)) @ block[1], values: ptr(const(V)) @ block[1], y: ptr(T) @ block[1],
    positions: ptr(I) @ block[1], moved: ptr(V) @ block[1], runs: ptr(E) @ block[1], begin: int64 @ block[1],
    at: int64 @ block[1], size: int32 @ block[1], last: bool @ block[1],
):
    """Write the `size` elements that `merge_tile` has put into `room` from `runs[at]` on; the `last` time what they stand for.

    Their row begins at element `begin`.
    """
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    t: int32 @ thread[1] = id()
    with partition(runs, thread[1], offset=lambda i: at + t + i, races="none") as own, \
         partition(y, thread[1], offset=lambda i: at + t + i, races="none") as result, \
         partition(positions, thread[1], offset=lambda i: at + t + i, races="none") as place_target, \
         partition(moved, thread[1], offset=lambda i: at + t + i, races="none") as value_target, group(thread[1]):
        for k in range(ITEMS):
            if k * THREADS < size - t:
                item: E = room[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]
                if not last:
                    own[k * THREADS] = item
                else:
                    if KEYS == BACK:
                        result[k * THREADS] = element_of(item, T=T, DESCENDING=DESCENDING)
                    if FORM != ALONE:
                        there: int64 = begin + place_of(item)
                        if KEYS == GATHERED:
                            result[k * THREADS] = x[there]
                        if VALUES:
                            value_target[k * THREADS] = values[there]
                        if PLACES:
                            place_target[k * THREADS] = I(place_of(item))
