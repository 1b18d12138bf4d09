"""Run lengths of long arrays of bytes: large tiles, of which a thread has up to 64 bytes, and a bit for each in a word."""

from prism.lang import (
    attr, bitcast, block, clz, const, constexpr, count, funnel_shift_right, grid, group, id, int32, int64, load_vector,
    mailbox, partition, popcount, prism, ptr, requires, shared, store_vector, template, thread, uint8, uint16, uint32, uint64,
    vector, warp_max, warp_sum,
)
from prism.kernels.select.bytes import fill_selectors, one_of
from prism.kernels.select.compaction import bits_within
from prism.kernels.select.direct_loop import direct_loop
from prism.kernels.select.encode import look_back_starts, note_sum_and_most, start_of, sum_and_most
from prism.kernels.select.long_bytes import mark_edges, rank_parts
from prism.kernels.select.packed import load_held
from prism.kernels.select.parts import skew_at

SPARSE = 8
"""Where no row of a thread in a warp has more starts than that, they are looked for, and not each bit asked."""


@prism.kernel
@template(
    THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int),
    NEAR=constexpr(int, default=2),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def encode_bytes(
    x: ptr(const(uint8)) @ grid[1], y: ptr(uint8) @ grid[1], lengths: ptr(int64) @ grid[1], kept: ptr(int64) @ grid[1],
    n: int64 @ grid[1], room: int64 @ grid[1], skew: int32 @ grid[1], y_skew: int32 @ grid[1], otherwise: uint8 @ grid[1],
    unset: uint8 @ grid[1], words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """`y` becomes the byte of each run of equal ones of `x`, `lengths` how long they are; at most `room` of them.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `encode`, of bytes. A thread has `ITEMS` of a tile's, up to 64; a tile fewer than 2^16. `NEAR`: as of
                 `select_bytes`.
    Test:        tests/kernels/test_encode_bytes.py, tests/gpu/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    ROOM: constexpr(int) = TILE + 4
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with (
        partition(y, block[1], races="none") as out, partition(kept, block[1], 0, races="none") as number,
        partition(lengths, block[1], races="none") as all_lengths, group(block[1]),
    ):  # fmt: skip
        t: int32 @ thread[1] = id()
        at: int32 @ thread[1] = (t >> 5) * (32 * ITEMS) + (t & 31) * WIDTH  # as `block.place` has it
        prefix: int64 @ block[1] = 0  # how many runs begin before the tile
        since: int64 @ block[1] = -1  # where the last of them does
        first: int32 @ block[1] = 0  # the tiles from here to the tile are not in these yet
        done: int32 @ block[1] = 0
        half: int32 @ block[1] = 0  # which of the tiles is written next
        here: int32 @ block[1] = 0  # how many runs begin in it
        coming: int32 @ block[1] = 0  # and in the one that is counted
        ahead: uint32[ITEMS // 4] @ thread[1] = {0}
        signs: uint64[1] @ thread[1] = {0}  # where
        edge: uint8 @ thread[1] = unset  # in lane 0: what is before the warp's first one
        held: shared(uint8[2 * TILE], align=16) @ block[1]
        starts: shared(uint16[2 * ROOM], align=16) @ block[1]
        numbers: shared(uint32[64], align=16) @ block[1]  # a warp's two: how many runs begin, and where the last one does
        shares: shared(uint32[64], align=16) @ block[1]  # the same of the tiles before
        selectors: shared(uint8[80], align=16) @ block[1]
        fill_selectors(selectors, THREADS=THREADS)

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1], many: int32 @ block[1]):
            """Ask for a tile, and for what is about the one that this block draws next."""
            nonlocal edge
            start: int64 @ block[1] = int64(tile) * TILE
            with partition(x, block[1], offset=start) as source:
                load_held(source, ahead, many, otherwise, skew, ITEMS=ITEMS, WIDTH=WIDTH)
            block.prefetch_tile(x, tile + blocks // NEAR, n, TILE=TILE)
            with group(thread[1]):
                edge = unset
                if t & 31 == 0 and at < many and tile | at != 0:
                    edge = x[start + at - 1]

        @requires(block[1], thread["THREADS"])
        def find(tile: int32 @ block[1], many: int32 @ block[1], epoch: uint32 @ block[1]):
            """Find out where runs begin in a tile that was asked for; publish how many there are, and where the last one is."""
            nonlocal coming
            mark_edges(ahead, signs, uint32(edge), one_of(selectors), WIDTH=WIDTH)
            signs[0] = signs[0] | (1 if tile == 0 and at == 0 else 0)
            signs[0] = signs[0] & bits_within(many - at, F=uint64, ITEMS=ITEMS, WIDTH=WIDTH)
            note_sum_and_most(numbers, uint32(popcount(signs[0])), last_of(signs[0], at, WIDTH=WIDTH))
            sum: uint32 @ block[1] = 0
            latest: uint32 @ block[1] = 0
            sum, latest = sum_and_most(numbers)
            coming = int32(sum)
            grid.publish(words, tile, latest << 16 | sum, epoch)

        @requires(block[1], thread["THREADS"])
        def place(many: int32 @ block[1]):
            """Put the tile into shared memory, and where its runs begin."""
            base: int32 @ block[1] = 1 - half
            lane: int32 @ thread[1] = id() % 32
            w: int32 @ thread[32] = id()
            before: int32 @ thread[32] = 0
            with group(thread[32]):
                before = warp_sum(int32(numbers[2 * lane]) if lane < w else 0)
            with partition(held, thread[1], offset=lambda place: place) as spot, group(thread[1]):
                store_words(spot, ahead, base * TILE + at, WIDTH=WIDTH)
            note_places(starts, signs, base * ROOM + before, at, base * ROOM + coming, WIDTH=WIDTH, ITEMS=ITEMS)

        @requires(block[1], thread["THREADS"])
        def merge():
            """Nothing is left to do."""

        @requires(block[1], thread["THREADS"])
        def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
            """Add up how many runs begin in the tiles before, and find where the last one does, a share in each warp."""
            nonlocal first, done
            look_back_starts(words, shares, done, tile, epoch, THREADS=THREADS, WORDS=WORDS)
            first = done
            done = tile

        @requires(block[1], thread["THREADS"])
        def store(tile: int32 @ block[1], many: int32 @ block[1], last: int32 @ block[1]):
            """Write the tile's runs, and how long they are; of the last tile how many there are in all."""
            nonlocal prefix, since
            between: uint32 @ block[1] = 0
            latest: uint32 @ block[1] = 0
            between, latest = sum_and_most(shares)
            prefix = prefix + int64(between)
            since = start_of(latest, first, since, TILE=TILE)
            block.fill(number, prefix + here, last)  # first: a host that waits goes on then
            valid: int32 @ block[1] = int32(min(max(room - prefix, 0), int64(here)))
            aligned: int32 @ block[1] = skew_at(y_skew, prefix, VECTOR=2)
            with (
                partition(out, block[1], prefix, races="none") as target,
                partition(all_lengths, block[1], prefix, races="none") as inside,
            ):
                ended: bool @ block[1] = here > 0 and 0 < prefix <= room
                closed: bool @ block[1] = last == 1 and prefix + here <= room
                store_runs(
                    target, inside, held, starts, half * TILE, half * ROOM, aligned, valid, here, int64(tile) * TILE, ended,
                    since, n, closed, THREADS=THREADS,
                )

        @requires(block[1], thread["THREADS"])
        def keep():
            """The tile that was put together is written next."""
            nonlocal half, here
            half = 1 - half
            here = coming

        block.prefetch_tile(x, b, n, TILE=TILE)  # about the first one that it draws: it comes while that is drawn
        final: grid.Ticket @ block[1] = direct_loop(
            control, tiles, n, LOAD=load, COUNT=find, PLACE=place, MERGE=merge, LOOK_BACK=look_back, STORE=store, KEEP=keep,
            HOLD=True, TILE=TILE, THREADS=THREADS,
        )
        if final.tile == tiles + blocks - 1:  # every block has drawn its last ticket
            grid.count_launch(control, words, capacity, tiles, final.epoch, 0)


@prism.device
@requires(thread[1])
@template(HELD=constexpr(int), WIDTH=constexpr(int))
def store_words(tile: ptr(uint8) @ thread[1], held: uint32[HELD] @ thread[1], place: int32 @ thread[1]):
    """Write a thread's bytes, four in a word, to a tile as `block.load` lays them out, from `place` on: by vectors."""
    for j in range(HELD // 4):
        row: vector(uint32, 4)
        for k in range(4):
            row[k] = held[4 * j + k]
        begin: int32 = place + (j * 16 // WIDTH * (32 * WIDTH) + j * 16 % WIDTH)
        store_vector(tile[begin], bitcast(row, vector(uint8, 16)))


@prism.device
@requires(thread[1])
@template(WIDTH=constexpr(int))
def last_of(flags: uint64 @ thread[1], place: int32 @ thread[1]) -> uint32 @ thread[1]:
    """As `last_start`, of 64 flags."""
    top: int32 = max(63 - clz(flags), 0)
    return uint32(place + (top // WIDTH * (32 * WIDTH) + top % WIDTH) + 1) if flags != 0 else 0


@prism.device
@requires(block[1], thread[32])
@template(ROOM=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
def note_places(
    starts: shared(uint16[ROOM]) @ block[1], flags: uint64[1] @ thread[1], before: int32 @ thread[32], place: int32 @ thread[1],
    end: int32 @ block[1],
):
    """Write where the bytes stand in the tile whose bit of `flags` is set, in their order; and two zeros from `end` on.

    Perspective: block, of any number of warps.
    Shapes:      as of `block.store_flagged`.
    Cost:        of few starts, what as many as the thread with the most of a row has take; else of each bit a test and a store.
    """
    ROWS: constexpr(int) = ITEMS // WIDTH
    ranks: int32[ROWS] @ thread[1]
    rows: uint32[ROWS] @ thread[1]
    most: int32 @ thread[32] = 0  # of a row of a thread of the warp
    more: int32 @ thread[1] = 0
    t: int32 @ thread[1] = id()
    for j in range(ROWS):
        rows[j] = uint32(flags[0] >> (j * WIDTH)) & (0xFFFFFFFF >> (32 - WIDTH))
        more = max(more, int32(popcount(rows[j])))
    with group(thread[32]):
        rank_parts(flags, before, ranks, WIDTH=WIDTH)
        most = warp_max(more)
    with partition(starts, thread[1], offset=lambda rank: rank) as at, group(thread[1]):
        if t < 2:
            at[end + t] = 0
        for j in range(ROWS):
            rank: int32 = ranks[j]
            if most <= SPARSE:
                left: uint32 = rows[j]
                rank = rank + int32(popcount(left))
                while left != 0:  # from the last one on
                    top: int32 = 31 - clz(left)
                    rank = rank - 1
                    at[rank] = uint16(place + (j * 32 * WIDTH + top))
                    left = left ^ uint32(1) << top
            else:
                for k in range(WIDTH):
                    if rows[j] >> k & 1 != 0:
                        at[rank] = uint16(place + (j * 32 * WIDTH + k))
                        rank = rank + 1


@prism.device
@requires(block[1], thread[32])
@template(ROOM=constexpr(int), MANY=constexpr(int), THREADS=constexpr(int))
def store_runs(
    y: ptr(uint8) @ block[1], lengths: ptr(int64) @ block[1], tile: shared(uint8[ROOM]) @ block[1],
    starts: shared(uint16[MANY]) @ block[1], base: int32 @ block[1], origin: int32 @ block[1], skew: int32 @ block[1],
    valid: int32 @ block[1], here: int32 @ block[1],
    begin: int64 @ block[1], ended: bool @ block[1], since: int64 @ block[1], n: int64 @ block[1], closed: bool @ block[1],
):
    """Write `valid` bytes that stand at a tile's starts, and how long the runs are, but for the last of its `here` ones.

    As `store_pairs` and `store_ends`, where the tile stands from `base` on, and the first start is `starts[origin]` whatever
    `skew` is: of two words three starts are taken.
    """
    t: int32 @ thread[1] = id()
    many: int32 @ block[1] = min(here - 1, valid)
    lead: int32 @ block[1] = max(skew, 0)
    with (
        partition(y, thread[1], offset=-lead, races="none") as firsts,
        partition(lengths, thread[1], offset=-lead, races="none") as all_lengths, group(thread[1]),
    ):  # fmt: skip
        if t == 0 and ended:
            all_lengths[lead - 1] = begin + int64(starts[origin]) - since
        if t == 0 and closed:
            all_lengths[lead + here - 1] = n - (begin + int64(starts[origin + here - 1]) if here > 0 else since)
        for w in range(t, lead + valid + 1 >> 1, THREADS, unroll=False):
            first: int32 = 2 * w - lead  # of the starts
            if 0 <= first and first + 1 < many and skew >= 0:
                low: uint32 = bitcast(load_vector(starts[origin + 2 * w - 2 * lead], 2), uint32)
                high: uint32 = bitcast(load_vector(starts[origin + 2 * w - 2 * lead + 2], 2), uint32)
                two: uint32 = funnel_shift_right(low, high, uint32(lead) * 16)
                next: uint32 = high >> (uint32(lead) * 16) & 0xFFFF
                apart: vector(int64, 2)
                apart[0] = int64((two >> 16) - (two & 0xFFFF))
                apart[1] = int64(next - (two >> 16))
                both: vector(uint8, 2)
                both[0] = tile[base + int32(two & 0xFFFF)]
                both[1] = tile[base + int32(two >> 16)]
                store_vector(firsts[2 * w], both)
                store_vector(all_lengths[2 * w], apart)
            else:
                for k in range(2):
                    place: int32 = origin + max(first + k, 0)
                    if 0 <= first + k < valid:
                        firsts[2 * w + k] = tile[base + int32(starts[place])]
                    if 0 <= first + k < many:
                        all_lengths[2 * w + k] = int64(starts[place + 1]) - int64(starts[place])


EXAMPLES = {
    "encode_bytes": {"THREADS": 256, "ITEMS": 64, "WIDTH": 32, "BLOCKS": 2, "WORDS": 2},
}
