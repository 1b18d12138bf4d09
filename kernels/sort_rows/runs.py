"""Rows and segments that no block holds: tiles sorted by the network, then four runs at a time merged, all in one launch.

Blocks draw pieces of work in their order: tiles to sort; then for each pass where the tiles of the result begin, and the tiles.
What has been drawn is done by a block that runs, so a piece may wait until all pieces of the step before it are done. Of segments
the first piece is a list of their tiles: the host does not know how many there are, nor how long the longest segment is.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, shared, template,
    thread, uint64,
)
from prism.kernels.sort_rows.elements import PLACED, behind_all
from prism.kernels.sort_rows.pieces import (
    CUT, LIST, LONGEST, MERGED, TILE_SORTED, TILES, cut_tiles, list_tiles, merge_tile, owner_of, sort_tile, step_of,
    write_tile,
)
from prism.kernels.sort_rows.segments import GATHERED, ROWS, SEGMENTS, bounds_of

DRAWN, DONE = range(2)
"""What blocks count: pieces that were drawn, and those that are done."""


@prism.kernel
@template(
    T=dtype, U=dtype, E=dtype, V=dtype, I=dtype, O=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    DESCENDING=constexpr(bool), FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool), VALUES=constexpr(bool),
    MODE=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_long_rows(
    x: ptr(const(T)) @ grid[1], values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1],
    moved: ptr(V) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], listed: ptr(const(int32)) @ grid[1],
    listed_many: ptr(const(int32)) @ grid[1], held: ptr(E) @ grid[1], cuts: ptr(int64) @ grid[1], owners: ptr(int32) @ grid[1],
    firsts: ptr(int32) @ grid[1], found: ptr(int64) @ grid[1], control: ptr(uint64) @ grid[1], rows: int64 @ grid[1],
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
    BEFORE: constexpr(int) = 1 if MODE == SEGMENTS else 0  # pieces before tiles are sorted: a list of them
    many: int32 @ grid[1] = 1
    if MODE == SEGMENTS:
        many = listed_many[number]
    with partition(held, block[1], offset=lambda i: i, races="allow") as runs, \
         partition(cuts, block[1], offset=lambda i: i, races="allow") as cut, \
         partition(owners, block[1], offset=lambda i: i, races="allow") as owner, \
         partition(firsts, block[1], offset=lambda i: i, races="allow") as first_tile, \
         partition(found, block[1], offset=lambda i: i, races="allow") as known, \
         partition(y, block[1], offset=lambda i: i, races="none") as result, \
         partition(positions, block[1], offset=lambda i: i, races="none") as place_target, \
         partition(moved, block[1], offset=lambda i: i, races="none") as value_target, group(block[1]):
        t: int32 @ thread[1] = id()
        room: shared(E[THREADS * (ITEMS + 1)]) @ block[1]
        facts: shared(int64[8]) @ block[1]  # what all threads are to know
        tiles: int64 @ block[1] = (columns + (TILE - 1)) // TILE * rows
        longest: int64 @ block[1] = columns
        listing: bool @ block[1] = MODE == SEGMENTS  # whether that is not known as yet
        going: bool @ block[1] = many > 0
        while going:
            ticket: uint64 @ thread[1] = grid.draw(control, DRAWN)
            piece: int64 @ block[1] = int64(grid.next_tile(ticket))
            if listing and piece > 0:
                grid.wait_for_done(control, 1, DONE)
                with partition(facts, thread[1], offset=t) as fact, group(thread[1]):
                    if t < 2:
                        fact[0] = known[t]
                tiles = facts[TILES]
                longest = facts[LONGEST]
                listing = False
            step: int32 @ block[1] = 0
            part: int64 @ block[1] = 0  # which piece of its step
            wanted: int64 @ block[1] = 0  # so many pieces are done before
            width: int64 @ block[1] = 0
            half: int64 @ block[1] = 0  # where the runs lie
            step, part, wanted, width, half = step_of(piece, tiles, BEFORE=BEFORE, TILE=TILE, THREADS=THREADS)
            going = step < CUT or width < longest
            if going:
                if wanted > 0:
                    grid.wait_for_done(control, wanted, DONE)
                row: int64 @ block[1] = 0
                within: int64 @ block[1] = 0
                begin: int64 @ block[1] = 0
                length: int64 @ block[1] = 0
                if step == TILE_SORTED or step == MERGED:
                    with partition(facts, thread[1], offset=t) as fact, group(thread[1]):
                        if t < 3 and step == MERGED:
                            fact[0] = cut[t * capacity + part]
                        if 3 <= t and t < 6 and step == MERGED and part + 1 < tiles:
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
                if step == LIST:
                    if MODE == SEGMENTS:
                        with partition(listed, block[1], offset=first_listed) as names:
                            list_tiles(
                                starts, ends, names, many, owner, first_tile, known, n, capacity, TILE=TILE, THREADS=THREADS,
                            )
                elif step == TILE_SORTED:
                    sort_tile(
                        x, runs, begin, length, within, items, U=U, ITEMS=ITEMS, THREADS=THREADS, DESCENDING=DESCENDING,
                        FORM=FORM,
                    )
                elif step == CUT:
                    with partition(runs, block[1], offset=half * n, races="allow") as given:
                        cut_tiles(
                            given, cut, owner, first_tile, starts, ends, columns, n, capacity, tiles, part, width, MODE=MODE,
                            TILE=TILE, THREADS=THREADS,
                        )
                elif width < length:
                    share: int64 @ block[1] = 4 * width // TILE
                    start: int64 @ block[1] = within // share * (4 * width)
                    whole: int64 @ block[1] = min(length - start, 4 * width)
                    diagonal: int64 @ block[1] = within % share * TILE
                    size: int32 @ block[1] = int32(min(whole - diagonal, TILE))
                    at: int64 @ block[1] = begin + start + diagonal
                    with partition(runs, block[1], offset=half * n + begin, races="allow") as given:
                        merge_tile(given, facts, room, start, whole, diagonal, width, items, ITEMS=ITEMS, THREADS=THREADS)
                    with partition(runs, block[1], offset=n - half * n, races="allow") as merged:
                        write_tile(
                            room, x, values, result, place_target, value_target, merged, begin, at, size, 4 * width >= length,
                            ITEMS=ITEMS, THREADS=THREADS, DESCENDING=DESCENDING, FORM=FORM, KEYS=KEYS, PLACES=PLACES,
                            VALUES=VALUES,
                        )
                grid.count_done(control, DONE)


EXAMPLES = {
    "sort_long_rows": {
        "T": "float32", "U": "uint32", "E": "uint64", "V": "float32", "I": "int64", "O": "int64", "ITEMS": 16, "THREADS": 256,
        "BLOCKS": 2, "DESCENDING": False, "FORM": PLACED, "KEYS": GATHERED, "PLACES": False, "VALUES": False, "MODE": ROWS,
    },
}
