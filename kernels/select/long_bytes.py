"""Selection of bytes, of long arrays: large tiles, of which a thread has several parts of 64 bytes.

What a tile costs whatever its size, counting, publishing, looking back and barriers, is half of the instructions of a tile of 64
bytes a thread. So a thread has several times as many, a bit for each in several words. What is kept is put close together as soon
as it is counted, in one of two tiles in shared memory: so no registers hold a tile while the block waits for the tiles before.
"""

from prism.lang import (
    attr, block, broadcast, const, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox, partition,
    popcount, prism, ptr, requires, shared, shuffle_up, template, thread, uint8, uint32, uint64,
)
from prism.kernels.select.answers import Interval, find_interval, flags_in_interval, flags_of_answers
from prism.kernels.select.bytes import fill_selectors, merge_rests, one_of, scatter_row, write_shifted
from prism.kernels.select.compaction import bits_within
from prism.kernels.select.conditions import is_set
from prism.kernels.select.packed import edges_of_bytes, flags_of_bytes, load_held, release
from prism.kernels.select.parts import skew_at
from prism.lib.thread import extent


@prism.kernel
@template(
    M=dtype, C=dtype, TEST=function, OWN=constexpr(bool), EDGES=constexpr(bool), GIVEN=constexpr(bool, default=False),
    PARTS=constexpr(int), NEAR=constexpr(int, default=2),
    THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def select_bytes(
    x: ptr(const(uint8)) @ grid[1], mask: ptr(const(M)) @ grid[1], y: ptr(uint8) @ grid[1], kept: ptr(int64) @ grid[1],
    n: int64 @ grid[1], room: int64 @ grid[1], skew: int32 @ grid[1], mask_skew: int32 @ grid[1], y_skew: int32 @ grid[1],
    otherwise: uint8 @ grid[1], unset: C @ grid[1], words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1],
    control: ptr(uint64) @ grid[1],
):
    """`y` becomes what is kept of `x`, in its order, at most `room` bytes of it; `kept[0]` how many are kept in all.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `select`, of bytes. A thread has `ITEMS` of a tile's, in `PARTS` of up to 64, fewer than 2^16 all threads.
                 Without `OWN` those are kept whose byte of `mask` is not 0. With `OWN` the tile is brought near that is a
                 `NEAR`-th of the blocks on.
    Test:        tests/kernels/test_long_bytes.py, tests/gpu/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    PART: constexpr(int) = ITEMS // PARTS
    HELD: constexpr(int) = ITEMS // 4
    ROOM: constexpr(int) = THREADS * HELD + 8
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with partition(y, block[1], races="none") as out, partition(kept, block[1], 0, races="none") as number, group(block[1]):
        packed: shared(uint32[2 * ROOM], align=16) @ block[1]  # what is kept of two tiles in turn
        half: int32 @ block[1] = 0  # where that of the held tile is
        ahead: uint32[HELD] @ thread[1] = {0}  # the loaded tile
        signs: uint64[PARTS] @ thread[1] = {0}  # which bytes of it are kept
        selectors: shared(uint8[80], align=16) @ block[1]  # of bytes, four at a time
        fill_selectors(selectors, THREADS=THREADS)
        bytes: Interval @ block[1] = Interval(0, 0, 0, 0, 0, 0)  # what `TEST` is true of
        if OWN and not EDGES:
            bytes = find_interval(mask, C=C, TEST=TEST, GIVEN=GIVEN, THREADS=THREADS)

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1]) -> int32 @ thread[1]:
            """Bring a tile into registers, and find out what is kept of it."""
            one: uint32 @ thread[1] = one_of(selectors)
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            start: int64 @ block[1] = int64(tile) * TILE
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            if not OWN:
                load_marks(mask, signs, start, many, uint8(unset), mask_skew, one, ITEMS=ITEMS, WIDTH=WIDTH)
            with partition(x, block[1], offset=start) as source:
                load_held(source, ahead, many, otherwise, skew, ITEMS=ITEMS, WIDTH=WIDTH)
            if OWN:  # about what this block draws next, as of `split_apart`; of bytes and a mask enough is under way without
                block.prefetch_tile(x, tile + blocks // NEAR, n, TILE=TILE)
            if EDGES:
                edge: uint32 @ thread[1] = uint32(unset)  # in lane 0: what is before the warp's first one
                lane: int32 @ thread[1] = id() % 32
                with group(thread[1]):
                    if lane == 0 and at < many and (tile > 0 or at > 0):
                        edge = uint32(x[start + at - 1])
                mark_edges(ahead, signs, edge, one, WIDTH=WIDTH)
                signs[0] = signs[0] | (1 if tile == 0 and at == 0 else 0)
            elif OWN:
                with group(thread[1]):
                    ask_bytes(ahead, signs, mask, bytes, bytes.known > 0, one, C=C, TEST=TEST, GIVEN=GIVEN)
            mine: int32 @ thread[1] = 0
            for p in range(PARTS):
                signs[p] = signs[p] & bits_within(many - at - p * PART * 32, F=uint64, ITEMS=PART, WIDTH=WIDTH)
                mine = mine + int32(popcount(signs[p]))
            return mine

        @requires(block[1], thread["THREADS"])
        def place(before: int32 @ thread[32], many: int32 @ block[1]):
            """Put what is kept of the loaded tile together."""
            both: int32[2] @ thread[32]
            both[0] = before
            both[1] = 0
            base: int32 @ block[1] = (1 - half) * ROOM
            spots: int32[ITEMS // WIDTH] @ thread[1]
            rests: uint32[ITEMS // WIDTH] @ thread[1]
            place_rows(
                packed, ahead, signs, signs, signs, both, base, many, 0, many, selectors, spots, rests, WIDTH=WIDTH,
                THREADS=THREADS, WAYS=1,
            )
            with group(thread[1]):
                merge_rests(packed, spots, rests)

        @requires(block[1], thread["THREADS"])
        def store(tile: int32 @ block[1], prefix: int64 @ block[1], before: int32 @ thread[32], held: int32 @ block[1]):
            """Write what is kept of the held tile; of the last tile how many are kept in all."""
            block.fill(number, prefix + held, 1 if tile == tiles - 1 else 0)  # first: a host that waits goes on then
            valid: int32 @ block[1] = int32(min(max(room - prefix, 0), int64(held)))
            with partition(out, block[1], prefix, races="none") as target:
                write_shifted(target, packed, half * ROOM, valid, skew_at(y_skew, prefix, VECTOR=16), THREADS=THREADS)

        @requires(block[1], thread["THREADS"])
        def keep():
            """The loaded tile is the held one from here on."""
            nonlocal half
            half = 1 - half

        block.prefetch_tile(x, b, n, TILE=TILE)  # about the first one that it draws: it comes while that is drawn
        if not OWN:
            block.prefetch_tile(mask, b, n, TILE=TILE)
        grid.select_tiles(
            words, capacity, control, blocks, tiles, LOAD=load, STORE=store, KEEP=keep, PLACE=place, THREADS=THREADS, WORDS=WORDS,
        )


@prism.device
@requires(block[1], thread[32])
@template(M=dtype, PARTS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
def load_marks(
    mask: ptr(const(M)) @ block[1], signs: uint64[PARTS] @ thread[1], start: int64 @ block[1], many: int32 @ block[1],
    unset: uint8 @ block[1], skew: int32 @ block[1], one: uint32 @ thread[1],
):
    """Load a tile of bytes of a mask; `signs` becomes which of them are not zero."""
    EACH: constexpr(int) = ITEMS // 4 // PARTS
    marks: uint32[ITEMS // 4] @ thread[1]
    with partition(mask, block[1], offset=start) as source:
        load_held(source, marks, many, unset, skew, ITEMS=ITEMS, WIDTH=WIDTH)
    with group(thread[1]):
        for p in range(PARTS):
            part: uint32[EACH]
            for w in range(EACH):
                part[w] = marks[p * EACH + w]
            signs[p] = flags_of_bytes(part, one, F=uint64)


@prism.device
@requires(block[1], thread[32])
@template(PARTS=constexpr(int), HELD=constexpr(int), WIDTH=constexpr(int))
def mark_edges(
    held: uint32[HELD] @ thread[1], signs: uint64[PARTS] @ thread[1], edge: uint32 @ thread[1], one: uint32 @ thread[1]
):
    """`signs` becomes which bytes differ from the one before; `edge`: what is before lane 0's first one."""
    EACH: constexpr(int) = HELD // PARTS
    before: uint32 @ thread[1] = edge
    for p in range(PARTS):
        part: uint32[EACH] @ thread[1]
        for w in range(EACH):
            part[w] = held[p * EACH + w]
        signs[p] = edges_of_bytes(part, before, one, F=uint64, WIDTH=WIDTH)
        with group(thread[32]):
            top: uint32 @ thread[32] = broadcast(part[EACH - 1], 31)
            before = top >> 24


@prism.device
@requires(thread[1])
@template(
    M=dtype, C=dtype, TEST=function, GIVEN=constexpr(bool), PARTS=constexpr(int), HELD=constexpr(int),
)
def ask_bytes(
    held: uint32[HELD] @ thread[1], signs: uint64[PARTS] @ thread[1], mask: ptr(const(M)) @ thread[1],
    bytes: Interval @ thread[1], known: bool @ thread[1], one: uint32 @ thread[1],
):
    """`signs` becomes which bytes `TEST` is true of: those of an interval, where it is `known`."""
    EACH: constexpr(int) = HELD // PARTS
    for p in range(PARTS):
        part: uint32[EACH]
        for w in range(EACH):
            part[w] = held[p * EACH + w]
        if known:
            signs[p] = flags_in_interval(part, bytes, one, F=uint64)
        else:
            items: uint8[4 * EACH]
            release(part, items)
            signs[p] = flags_of_answers(items, mask, C=C, F=uint64, TEST=TEST, GIVEN=GIVEN)


@prism.device
@requires(thread[32])
@template(PARTS=constexpr(int), ROWS=constexpr(int), WIDTH=constexpr(int))
def rank_parts(flags: uint64[PARTS] @ thread[1], before: int32 @ thread[32], ranks: int32[ROWS] @ thread[1]):
    """As `rank_rows`, of several words of flags: how many are kept before each row of `WIDTH` bytes."""
    EACH: constexpr(int) = ROWS // PARTS  # rows of a part
    FIELD: constexpr(int) = 10 if WIDTH <= 16 else 16  # bits for how many of a row a warp keeps: at most 32 * WIDTH
    MANY: constexpr(int) = 32 // FIELD  # rows that are added up at once
    lane: int32 @ thread[1] = id() % 32
    kept: int32 @ thread[32] = before
    for first in range(0, ROWS, MANY):
        mine: uint32 @ thread[1] = 0
        for j in range(first, min(first + MANY, ROWS)):
            row: uint32 @ thread[1] = uint32(flags[j // EACH] >> (j % EACH * WIDTH)) & (0xFFFFFFFF >> (32 - WIDTH))
            mine = mine | uint32(popcount(row)) << ((j - first) * FIELD)
        sums: uint32 @ thread[1] = mine
        for step in range(5):
            below: uint32 @ thread[1] = shuffle_up(sums, 1 << step)
            sums = sums + below if lane >= 1 << step else sums
        ends: uint32 @ thread[32] = broadcast(sums, 31)
        for j in range(first, min(first + MANY, ROWS)):
            ranks[j] = kept + int32((sums - mine) >> ((j - first) * FIELD) & ((1 << FIELD) - 1))
            kept = kept + int32(ends >> ((j - first) * FIELD) & ((1 << FIELD) - 1))


@prism.device
@requires(block[1], thread[32])
@template(
    PARTS=constexpr(int), HELD=constexpr(int), ROOM=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int),
    WAYS=constexpr(int), SPOTS=constexpr(int),
)
def place_rows(
    tile: shared(uint32[ROOM]) @ block[1], held: uint32[HELD] @ thread[1], flags: uint64[PARTS] @ thread[1],
    others: uint64[PARTS] @ thread[1], left: uint64[PARTS] @ thread[1], before: int32[2] @ thread[32], base: int32 @ block[1],
    kept: int32 @ block[1], others_kept: int32 @ block[1], many: int32 @ block[1], table: shared(uint8[80]) @ block[1],
    spots: int32[SPOTS] @ thread[1], rests: uint32[SPOTS] @ thread[1],
):
    """Put the bytes whose bit of `flags` is set close together, in their order, from word `base` of a tile on.

    With three `WAYS` those of `others` behind them, from the next word on; with two and three those of `left` behind these.

    Perspective: block, of `THREADS` threads.
    Shapes:      as `block.load` leaves a tile, bytes four in a word; a bit of `PARTS` words of flags for each. `before`: how many
                 bits of `flags` are set in the warps before, and of `others`; `kept`, `others_kept`, `many`: how many are set
                 in all, and how many bytes have a bit of any. `table`: as of `fill_selectors`. `spots`, `rests`: what
                 `merge_rests` takes, behind a barrier, which ends it; one for each row and way.
    Cost:        of each part 12 shuffles for four rows, of four bytes a shared load of 8 bytes, a shared store of each word that
                 they fill; no barrier.
    Test:        tests/kernels/test_long_bytes.py
    """
    ROWS: constexpr(int) = HELD * 4 // WIDTH
    ROW: constexpr(int) = WIDTH // 4
    EACH: constexpr(int) = ROWS // PARTS
    t: int32 @ thread[1] = id()
    at: int32 @ thread[1] = block.place(ITEMS=4 * HELD, WIDTH=WIDTH)
    middle: int32 @ block[1] = base + (kept + 3) // 4
    final: int32 @ block[1] = middle + (others_kept + 3) // 4
    firsts: int32[ROWS] @ thread[1]
    seconds: int32[ROWS] @ thread[1]
    with group(thread[32]):
        rank_parts(flags, 4 * base + before[0], firsts, WIDTH=WIDTH)
        if WAYS == 3:
            rank_parts(others, 4 * middle + before[1], seconds, WIDTH=WIDTH)
    with partition(tile, thread[1], offset=lambda place: place) as spot, group(thread[1]):
        for j in range(ROWS):
            words: uint32[ROW]
            for w in range(ROW):
                words[w] = held[j * ROW + w]
            spots[j], rests[j] = scatter_row(spot, table, words, flags[j // EACH] >> (j % EACH * WIDTH), firsts[j])
            third: int32 = 4 * final + at + j * 32 * WIDTH - (firsts[j] - 4 * base)
            if WAYS == 3:
                third = third - (seconds[j] - 4 * middle)
                spots[ROWS + j], rests[ROWS + j] = scatter_row(
                    spot, table, words, others[j // EACH] >> (j % EACH * WIDTH), seconds[j],
                )
            if WAYS >= 2:
                spots[(WAYS - 1) * ROWS + j], rests[(WAYS - 1) * ROWS + j] = scatter_row(
                    spot, table, words, left[j // EACH] >> (j % EACH * WIDTH), third,
                )
        if WAYS >= 2 and t == 0 and kept % 4 != 0:  # the last word of each: nobody fills it
            spot[base + kept // 4] = 0
        if WAYS == 3 and t == 0 and others_kept % 4 != 0:
            spot[middle + others_kept // 4] = 0
        if t < 4:  # and what vectors have behind it
            spot[(base + kept // 4 if WAYS == 1 else final + (many - kept - others_kept) // 4) + t] = 0


EXAMPLES = {
    "select_bytes": {
        "M": "uint8", "C": "uint8", "TEST": is_set, "OWN": False, "EDGES": False, "PARTS": 2, "THREADS": 256, "ITEMS": 128,
        "WIDTH": 32, "BLOCKS": 3, "WORDS": 2,
    },
}
