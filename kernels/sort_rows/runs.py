"""Rows and segments that no block holds: tiles sorted by the network, then four runs at a time merged, all in one launch.

Blocks draw pieces of work in their order: tiles to sort; then for each pass where the tiles of the result begin, and the tiles.
What has been drawn is done by a block that runs, so a piece may wait until all pieces of the step before it are done. Of segments
the first piece is a list of their tiles: the host does not know how many there are, nor how long the longest segment is.
"""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, dtype, grid, group, id, int32, int64, load_acquire, partition, prism, ptr,
    requires, shared, template, thread,
)
from prism.kernels.merge.rows import cut_four, merge_four, store_rows
from prism.kernels.sort_rows.elements import ALONE, PLACED, before, behind_all, element_of, pack, place_of
from prism.kernels.sort_rows.segments import BACK, GATHERED, ROWS, SEGMENTS, bounds_of
from prism.lib.thread import operators

TILES, LONGEST = range(2)
"""What a block finds of segments for the others: how many tiles they have, and how long the longest is."""
DRAWN, DONE = range(2)
"""What blocks count: pieces that were drawn, and those that are done."""


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


@prism("device")
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
                    head[0] = int32((length + (TILE - 1)) / TILE)
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


@prism("global")
@template(
    T=dtype, U=dtype, E=dtype, V=dtype, I=dtype, O=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    DESCENDING=constexpr(bool), FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool), VALUES=constexpr(bool),
    MODE=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_long_rows(
    x: ptr(const(T)) @ grid[1], values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1],
    moved: ptr(V) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], listed: ptr(const(int32)) @ grid[1],
    listed_many: ptr(const(int32)) @ grid[1], held: ptr(E) @ grid[1], cuts: ptr(int64) @ grid[1], owners: ptr(int32) @ grid[1],
    firsts: ptr(int32) @ grid[1], found: ptr(int64) @ grid[1], control: ptr(int32) @ grid[1], rows: int64 @ grid[1],
    columns: int64 @ grid[1], n: int64 @ grid[1], capacity: int64 @ grid[1], first_listed: int64 @ grid[1],
    number: int32 @ grid[1],
):
    """Sort rows of any length below 2^31 - 2^13, by tiles and merges.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `sort_rows_by_lanes`; by `MODE` all of `rows` rows of `columns` elements, or the segments that are
                 `LISTED`, which have no element in common. `held`: room for `2 * n` of what is sorted, or for `n` where no row
                 is longer than four tiles, of `(THREADS - 1) * ITEMS` elements. `capacity`: at least as many as all tiles;
                 `cuts` has room for three times as many, `owners` and `firsts`, of segments, for as many, `found` for two.
                 `control`: two words, 0 before.
    Cost:        a read and a write of what is sorted for each fourfold of a tile, and one more of each.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    TILE: constexpr(int) = (THREADS - 1) * ITEMS
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    BEFORE: constexpr(int) = 1 if MODE == SEGMENTS else 0  # pieces before tiles are sorted: a list of them
    many: int32 @ grid[1] = 1
    if MODE == SEGMENTS:
        many = listed_many[number]
    with partition(held, block[1], offset=lambda i: i, races="allow") as runs, \
         partition(cuts, block[1], offset=lambda i: i, races="allow") as cut, \
         partition(owners, block[1], offset=lambda i: i, races="allow") as owner, \
         partition(firsts, block[1], offset=lambda i: i, races="allow") as first_tile, \
         partition(found, block[1], offset=lambda i: i, races="allow") as known, \
         partition(control, thread[1], offset=lambda i: i, races="allow") as words, \
         partition(y, thread[1], offset=lambda i: i, races="none") as result, \
         partition(positions, thread[1], offset=lambda i: i, races="none") as place_target, \
         partition(moved, thread[1], offset=lambda i: i, races="none") as value_target, group(block[1]):
        t: int32 @ thread[1] = id()
        room: shared(E[THREADS * (ITEMS + 1)]) @ block[1]
        facts: shared(int64[8]) @ block[1]  # what all threads are to know
        tiles: int64 @ block[1] = (columns + (TILE - 1)) / TILE * rows
        longest: int64 @ block[1] = columns
        listing: bool @ block[1] = MODE == SEGMENTS  # whether that is not known as yet
        going: bool @ block[1] = many > 0
        while going:
            ticket: int32 @ thread[1] = 0
            with group(thread[1]):
                if t == 0:
                    ticket = atomic_add(words[DRAWN], 1)
            piece: int64 @ block[1] = int64(block.broadcast(ticket, 0))
            if listing and piece > 0:
                with group(thread[1]):
                    if t == 0:
                        while load_acquire(words[DONE]) < 1:
                            pass
                seen: bool @ block[1] = block.all(True)  # by all threads
                with partition(facts, thread[1], offset=t) as fact, group(thread[1]):
                    if t < 2:
                        fact[0] = known[t]
                tiles = facts[TILES]
                longest = facts[LONGEST]
                listing = False
            # Which step a piece is of: 0 the list, 1 the tiles, then two of each pass, for cuts and for merges.
            step: int32 @ block[1] = 0
            part: int64 @ block[1] = 0  # which piece of its step
            wanted: int64 @ block[1] = 0  # so many pieces are done before
            width: int64 @ block[1] = TILE
            source: int64 @ block[1] = 0  # where the runs lie
            if piece >= BEFORE:
                step = 1
                part = piece - BEFORE
                wanted = BEFORE
                if part >= tiles:
                    cutting: int64 @ block[1] = (tiles + (THREADS - 1)) / THREADS
                    turn: int64 @ block[1] = (part - tiles) / (tiles + cutting)
                    part = (part - tiles) % (tiles + cutting)
                    wanted = BEFORE + tiles + turn * (tiles + cutting)
                    step = 2
                    if part >= cutting:
                        part = part - cutting
                        wanted = wanted + cutting
                        step = 3
                    source = turn % 2 * n
                    for earlier in range(turn):
                        width = 4 * width
                    going = width < longest
            if going:
                if wanted > 0:
                    with group(thread[1]):
                        if t == 0:
                            while load_acquire(words[DONE]) < int32(wanted):
                                pass
                    all_seen: bool @ block[1] = block.all(True)
                row: int64 @ block[1] = 0
                within: int64 @ block[1] = 0
                begin: int64 @ block[1] = 0
                length: int64 @ block[1] = 0
                if step == 1 or step == 3:
                    with partition(facts, thread[1], offset=t) as fact, group(thread[1]):
                        if t < 3 and step == 3:
                            fact[0] = cut[t * capacity + part]
                        if 3 <= t and t < 6 and step == 3 and part + 1 < tiles:
                            fact[0] = cut[(t - 3) * capacity + part + 1]
                        if MODE == SEGMENTS:
                            if t == 6:
                                fact[0] = int64(owner[part])
                            if t == 7:
                                fact[0] = int64(first_tile[part])
                    row, within = owner_of(
                        part, columns, int32(facts[6]) if MODE == SEGMENTS else int32(0),
                        int32(facts[7]) if MODE == SEGMENTS else int32(0), MODE=MODE, TILE=TILE,
                    )
                    begin, length = bounds_of(
                        row, row + 1, int64(starts[row]) if MODE == SEGMENTS else int64(0),
                        int64(ends[row]) if MODE == SEGMENTS else int64(0), columns, n, 1, n, MODE=MODE,
                    )
                items: E[ITEMS] @ thread[1]
                with group(thread[1]):
                    for k in range(ITEMS):
                        items[k] = behind_all(E=E)
                if step == 0:
                    if MODE == SEGMENTS:
                        with partition(listed, block[1], offset=first_listed) as names:
                            list_tiles(
                                starts, ends, names, many, owner, first_tile, known, n, capacity, TILE=TILE, THREADS=THREADS,
                            )
                elif step == 1:
                    start: int32 @ block[1] = int32(within * TILE)
                    size: int32 @ block[1] = int32(min(length - start, TILE))
                    with group(thread[1]):
                        for k in range(ITEMS):
                            if k * THREADS < size - t:
                                column: int32 = start + k * THREADS + t
                                items[k] = pack(x[begin + column], column, U=U, E=E, DESCENDING=DESCENDING, FORM=FORM)
                    block.sort_network(items, THREADS=THREADS, LESS=before, TOTAL=True)
                    block.blocked_to_striped(items, THREADS=THREADS)
                    with partition(runs, thread[1], offset=lambda i: begin + start + t + i, races="none") as own, \
                         group(thread[1]):
                        for k in range(ITEMS):
                            if k * THREADS < size - t:
                                own[k * THREADS] = items[k]
                elif step == 2:
                    with partition(cut, thread[1], offset=lambda i: i, races="none") as own, group(thread[1]):
                        tile: int64 = part * THREADS + t
                        if tile < tiles:
                            row_here: int64 = 0
                            within_here: int64 = 0
                            row_here, within_here = owner_of(
                                tile, columns, owner[tile] if MODE == SEGMENTS else int32(0),
                                first_tile[tile] if MODE == SEGMENTS else int32(0), MODE=MODE, TILE=TILE,
                            )
                            from_here: int64 = 0
                            size_here: int64 = 0
                            from_here, size_here = bounds_of(
                                row_here, row_here + 1, int64(starts[row_here]) if MODE == SEGMENTS else int64(0),
                                int64(ends[row_here]) if MODE == SEGMENTS else int64(0), columns, n, 1, n, MODE=MODE,
                            )
                            if width < size_here:
                                share: int64 = 4 * width / TILE
                                place: int64 = within_here / share * (4 * width)
                                lows: int64[4]
                                cut_four(
                                    runs, source + from_here + place, width, min(size_here - place, 4 * width),
                                    within_here % share * TILE, lows, LESS=before,
                                )
                                for r in range(3):
                                    own[tile + r * capacity] = lows[r]
                elif width < length:
                    share: int64 @ block[1] = 4 * width / TILE
                    start: int64 @ block[1] = within / share * (4 * width)
                    whole: int64 @ block[1] = min(length - start, 4 * width)
                    diagonal: int64 @ block[1] = within % share * TILE
                    size: int32 @ block[1] = int32(min(whole - diagonal, TILE))
                    heads: int32[4] @ block[1]
                    sizes: int32[4] @ block[1]
                    rest: int64 @ block[1] = diagonal
                    left: int64 @ block[1] = diagonal + size
                    for r in range(4):
                        first: int64 @ block[1] = facts[r] if r < 3 else rest
                        until: int64 @ block[1] = min(max(whole - r * width, 0), width)
                        if diagonal + TILE < whole:
                            until = facts[3 + r] if r < 3 else left
                        rest = rest - first
                        left = left - until
                        heads[r] = int32(start + r * width + first)
                        sizes[r] = int32(until - first)
                    with partition(runs, block[1], offset=source + begin, races="allow") as given:
                        merge_four(given, heads, sizes, room, items, ITEMS=ITEMS, THREADS=THREADS, LESS=before)
                    store_rows(room, items, t, False, ITEMS=ITEMS)
                    with partition(runs, thread[1], offset=lambda i: n - source + i, races="none") as own, group(thread[1]):
                        at: int64 = begin + start + diagonal + t
                        for k in range(ITEMS):
                            if k * THREADS < size - t:
                                item: E = room[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]
                                if 4 * width < length:
                                    own[at + k * THREADS] = item
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
                done: bool @ block[1] = block.all(True)
                with group(thread[1]):
                    if t == 0:
                        before_this: int32 = atomic_add(words[DONE], 1, order="release")


EXAMPLES = {
    "sort_long_rows": {
        "T": "float32", "U": "uint32", "E": "uint64", "V": "float32", "I": "int64", "O": "int64", "ITEMS": 16, "THREADS": 256,
        "BLOCKS": 2, "DESCENDING": False, "FORM": PLACED, "KEYS": GATHERED, "PLACES": False, "VALUES": False, "MODE": ROWS,
    },
}
