"""Run lengths in one pass: the element of each run, close together, and how long the run is.

As `select` has it: flags say where runs begin, and of the tiles before only their counts are needed, and where the last run of
them begins: both in a word. A run that begins in a tile, and is not its last one, is as long as it is to the next. The last one's
length is written by the tile where the next one begins.
"""

from prism.lang import (
    attr, block, claim, clz, const, constexpr, count, dtype, grid, group, id, int32, int64, load_vector, mailbox, partition,
    popcount, prism, ptr, requires, shared, split, store_vector, template, thread, uint16, uint32, uint64, vector, warp,
    warp_max, warp_sum,
)
from prism.kernels.select.compaction import load_runs
from prism.kernels.select.packed import release
from prism.kernels.select.parts import skew_at
from prism.lib.block.compact import rank_rows
from prism.lib.thread import extent

@prism.kernel
@template(
    T=dtype, H=dtype, TI=dtype, C=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WORDS=constexpr(int), ONCE=constexpr(bool, default=False),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def encode(
    x: ptr(const(TI)) @ grid[1], y: ptr(T) @ grid[1], lengths: ptr(int64) @ grid[1], kept: ptr(int64) @ grid[1],
    n: int64 @ grid[1], room: int64 @ grid[1], skew: int32 @ grid[1], y_skew: int32 @ grid[1], otherwise: T @ grid[1],
    unset: C @ grid[1], words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """`y` becomes the element of each run of equal ones of `x`, `lengths` how long they are; at most `room` of them.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`: `n` elements, at least one. `kept[0]`: how many runs there are in all. There are fewer than 2^16 blocks.
                 `y_skew`: of `y` and of `lengths`. The rest as of `select`.
    Test:        tests/kernels/test_encode.py, tests/gpu/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    PIECE: constexpr(int) = min(WIDTH, max(16 // T.bytes, 1))  # what is written at once to the held tile
    HELD: constexpr(int) = ITEMS * T.bytes // H.bytes
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    near: int32 @ grid[1] = blocks // 2 if BLOCKS >= 3 else blocks  # as of `split_apart`
    with partition(y, block[1], races="none") as out, partition(kept, block[1], 0, races="none") as number:
        with partition(lengths, block[1], races="none") as all_lengths, group(block[1]):
            prefix: int64 @ block[1] = 0  # how many runs begin before the held tile
            since: int64 @ block[1] = -1  # where the last of them does
            first: int32 @ block[1] = 0  # the tiles from here to the held one are not in these yet
            done: int32 @ block[1] = 0
            tile_held: shared(T[TILE], align=16) @ block[1]  # the held tile
            flags: uint32 @ thread[1] = 0  # where runs begin in it
            before: int32 @ thread[32] = 0  # how many in the warps before
            held: int32 @ block[1] = 0  # how many in all
            tile_ahead: H[HELD] @ thread[1] = {0}  # the same of the following tile
            signs: uint32 @ thread[1] = 0
            earlier: int32 @ thread[32] = 0
            coming: int32 @ block[1] = 0
            # Of the whole loop: so they share no memory with a tile, and no barrier stands between.
            numbers: shared(uint32[64]) @ block[1]  # of the following tile, a warp's two: how many, and the last one
            shares: shared(uint32[64]) @ block[1]  # the same of the tiles since the last held one

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1], epoch: uint32 @ thread[1]):
                """Bring a tile into registers; publish how many runs begin in it, and where the last one does."""
                nonlocal coming, earlier, signs
                at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
                signs = load_runs(
                    x, tile_ahead, tile, extent(tile, n, TILE=TILE), n, near, skew, otherwise, unset, THREADS=THREADS,
                    ITEMS=ITEMS, WIDTH=WIDTH,
                )
                note_sum_and_most(numbers, uint32(popcount(signs)), last_start(signs, at, WIDTH=WIDTH))
                many: uint32 @ block[1] = 0
                last: uint32 @ block[1] = 0
                many, last = sum_and_most(numbers)
                coming = int32(many)
                lane: int32 @ thread[1] = id() % 32
                w: int32 @ thread[32] = id()
                with group(thread[32]):
                    earlier = warp_sum(int32(numbers[2 * lane]) if lane < w else 0)
                grid.publish(words, tile, last << 16 | many, epoch)

            @requires(block[1], thread["THREADS"])
            def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                """Add up how many runs begin in the tiles before, and find where the last one does, a share in each warp."""
                nonlocal first, done
                look_back_starts(words, shares, done, tile, epoch, THREADS=THREADS, WORDS=WORDS)
                first = done
                done = max(tile, 0)

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1]):
                """Write the held tile's runs, and how long they are; of the last tile how many there are in all."""
                nonlocal prefix, since
                between: uint32 @ block[1] = 0  # here, not in `look_back`: the loop's own barrier stands between
                latest: uint32 @ block[1] = 0
                between, latest = sum_and_most(shares)
                prefix = prefix + int64(between)
                since = start_of(latest, first, since, TILE=TILE)
                begin: int64 @ block[1] = int64(tile) * TILE
                final: int32 @ block[1] = 1 if tile == tiles - 1 else 0
                block.fill(number, prefix + held, final)  # first: a host that waits goes on then
                valid: int32 @ block[1] = int32(min(max(room - prefix, 0), int64(held)))
                aligned: int32 @ block[1] = skew_at(y_skew, prefix, VECTOR=2)
                lead: int32 @ block[1] = max(aligned, 0)
                starts: shared(uint16[TILE + 2], align=16) @ block[1]  # from `lead` on: pairs as they are written
                note_starts(starts, flags, lead + before, ITEMS=ITEMS, WIDTH=WIDTH)
                with (
                    partition(out, block[1], prefix, races="none") as target,
                    partition(all_lengths, block[1], prefix, races="none") as inside,
                ):
                    store_pairs(target, inside, tile_held, starts, aligned, valid, min(held - 1, valid), THREADS=THREADS)
                with partition(all_lengths, block[1], prefix, races="none") as inside:
                    ended: bool @ block[1] = held > 0 and 0 < prefix <= room
                    closed: bool @ block[1] = final == 1 and prefix + held <= room
                    store_ends(inside, starts, lead, begin, ended, since, held, n, closed)

            @requires(block[1], thread["THREADS"])
            def keep():
                """The loaded tile is the held one from here on."""
                nonlocal held, flags, before
                held = coming
                flags = signs
                before = earlier
                items: T[ITEMS] @ thread[1]
                with group(thread[1]):
                    release(tile_ahead, items)
                at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
                with partition(tile_held, thread[1], offset=lambda place: place) as spot, group(thread[1]):
                    for j in range(ITEMS // PIECE):
                        row: vector(T, PIECE)
                        for k in range(PIECE):
                            row[k] = items[j * PIECE + k]
                        store_vector(spot[at + (j * PIECE // WIDTH * (32 * WIDTH) + j * PIECE % WIDTH)], row)

            last: grid.Ticket @ block[1] = grid.tile_loop(
                control, tiles, 0, b, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS, ALWAYS=True,
                ONCE=ONCE,
            )
            if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
                grid.count_launch(control, words, capacity, tiles, last.epoch, 0)


@prism.device
@requires(block[1], thread[32])
@template(ROOM=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
def note_starts(starts: shared(uint16[ROOM]) @ block[1], flags: uint32 @ thread[1], before: int32 @ thread[32]):
    """Write where the elements stand in the tile whose bit of `flags` is set, in their order.

    Perspective: block, of any number of warps.
    Shapes:      as of `block.store_flagged`.
    """
    ROWS: constexpr(int) = ITEMS // WIDTH
    place: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    ranks: int32[ROWS] @ thread[1]
    with group(thread[32]):
        rank_rows(flags, before, ranks, WIDTH=WIDTH)
    with partition(starts, thread[1], offset=lambda rank: rank) as at, group(thread[1]):
        for j in range(ROWS):
            rank: int32 = ranks[j]
            for k in range(WIDTH):
                if flags >> (j * WIDTH + k) & 1 != 0:
                    at[rank] = uint16(place + (j * 32 * WIDTH + k))
                    rank = rank + 1


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ROOM=constexpr(int), MANY=constexpr(int), THREADS=constexpr(int))
def store_pairs(
    y: ptr(T) @ block[1], lengths: ptr(int64) @ block[1], tile: shared(T[ROOM]) @ block[1],
    starts: shared(uint16[MANY]) @ block[1], skew: int32 @ block[1], valid: int32 @ block[1], many: int32 @ block[1],
):
    """Write `valid` elements of a tile that stand at its starts, and how far it is from each of `many` starts to the next.

    Perspective: block, of `THREADS` threads.
    Shapes:      the first start is `starts[max(skew, 0)]`; it goes to `y[0]` and `lengths[0]`, which begin `skew` past a pair, of
                 elements and of lengths; less than 0: it is not known. `many`: not above `valid`.
    Cost:        of two starts two shared loads, two of elements, and two stores.
    """
    t: int32 @ thread[1] = id()
    lead: int32 @ block[1] = max(skew, 0)
    with (
        partition(y, thread[1], offset=-lead, races="none") as firsts,
        partition(lengths, thread[1], offset=-lead, races="none") as all_lengths, group(thread[1]),
    ):  # fmt: skip
        for w in range(t, (lead + valid + 1) // 2, THREADS):
            first: int32 = 2 * w - lead  # of the starts
            if 0 <= first and first + 1 < many and skew >= 0:
                two: vector(uint16, 2) = load_vector(starts[2 * w], 2)
                apart: vector(int64, 2)
                apart[0] = int64(two[1]) - int64(two[0])
                apart[1] = int64(starts[2 * w + 2]) - int64(two[1])
                if T.bytes <= 8:
                    both: vector(T, 2)
                    for k in range(2):
                        both[k] = tile[int32(two[k])]
                    store_vector(firsts[2 * w], both)
                else:
                    for k in range(2):
                        firsts[2 * w + k] = tile[int32(two[k])]
                store_vector(all_lengths[2 * w], apart)
            else:
                for k in range(2):
                    if 0 <= first + k < valid:
                        firsts[2 * w + k] = tile[int32(starts[2 * w + k])]
                    if 0 <= first + k < many:
                        all_lengths[2 * w + k] = int64(starts[2 * w + k + 1]) - int64(starts[2 * w + k])


@prism.device
@requires(block[1], thread[32])
@template(MANY=constexpr(int))
def store_ends(
    lengths: ptr(int64) @ block[1], starts: shared(uint16[MANY]) @ block[1], lead: int32 @ block[1], begin: int64 @ block[1],
    ended: bool @ block[1], since: int64 @ block[1], held: int32 @ block[1], n: int64 @ block[1], closed: bool @ block[1],
):
    """Write how long the run is that ends in the tile, and the one that ends with `n`.

    Perspective: block, of any number of warps.
    Shapes:      the tile's first element is number `begin`, and `held` runs begin in it. If `ended`, `lengths[-1]` is that of
                 the run before, which begins at `since`; if `closed`, `lengths[held - 1]` is that of the last of all.
    """
    t: int32 @ thread[1] = id()
    with partition(lengths, thread[1], offset=-1, races="none") as out, group(thread[1]):
        if t == 0 and ended:
            out[0] = begin + int64(starts[lead]) - since
        if t == 0 and closed:
            last: int64 = begin + int64(starts[lead + held - 1]) if held > 0 else since
            out[held] = n - last


@prism.device
@requires(thread[1])
@template(WIDTH=constexpr(int))
def last_start(flags: uint32 @ thread[1], place: int32 @ thread[1]) -> uint32 @ thread[1]:
    """Which element the last bit of a thread's flags stands for, from 1 on; 0: none is set.

    Shapes: bits stand for elements as `block.load` lays them out, from `place` on: fewer than 2^16.
    """
    top: int32 = max(31 - clz(flags), 0)
    return uint32(place + (top // WIDTH * (32 * WIDTH) + top % WIDTH) + 1) if flags != 0 else 0


@prism.device
@requires(block[1], thread[32])
@template(THREADS=constexpr(int), WORDS=constexpr(int))
def look_back_starts(
    words: ptr(mailbox(uint32)) @ grid[1], shares: shared(uint32[64]) @ block[1], first: int32 @ block[1],
    last: int32 @ block[1], epoch: uint32 @ block[1],
):
    """Note how many runs begin in the tiles `first ... last - 1`, and the last start: a share in each warp.

    As `grid.look_back`, of words that are counts, and above 16 bits the last start's place in the tile, from 1 on. A share's
    last start is that, and above 16 bits which tile since `first` it is in; 0: there is none.

    Perspective: block, of `THREADS` threads.
    Shapes:      there are fewer than 2^16 tiles, and 2^32 starts.
    """
    number: uint32 @ thread[1] = 0
    place: uint32 @ thread[1] = 0

    @requires(thread[1])
    def take(got: uint32[WORDS] @ thread[1], tile: int32 @ thread[1]):
        """Add the counts of a few tiles, from `tile` on, and note the last start."""
        nonlocal number, place
        for j in range(WORDS):
            number = number + (got[j] & 0xFFFF)
            place = uint32(tile + j - first) << 16 | got[j] >> 16 if got[j] >> 16 != 0 else place

    grid.look_back_each(words, first, last, 0, epoch, TAKE=take, THREADS=THREADS, WORDS=WORDS)
    note_sum_and_most(shares, number, place)


@prism.device
@requires(block[1], thread[32])
def note_sum_and_most(pairs: shared(uint32[64]) @ block[1], number: uint32 @ thread[1], place: uint32 @ thread[1]):
    """Write the sum of each warp's numbers, and the largest of their places, to two words of the warp's own."""
    w: int32 @ thread[32] = id()
    sum: uint32 @ thread[32] = warp_sum(number)
    most: uint32 @ thread[32] = warp_max(place)
    with partition(pairs, thread[32], offset=2 * w) as own, group(thread[32]):
        with claim(own, thread[1]) as slot:
            match split(thread):
                case 1:
                    slot[0] = sum
                    slot[1] = most


@prism.device
@requires(block[1], thread[32])
def sum_and_most(pairs: shared(uint32[64]) @ block[1]) -> (uint32, uint32) @ block[1]:
    """The sum of all warps' numbers, and the largest of their places, of what `note_sum_and_most` wrote."""
    total: uint32 @ block[1] = 0
    largest: uint32 @ block[1] = 0
    for v in range(count(warp[1])):
        total = total + pairs[2 * v]
        largest = max(largest, pairs[2 * v + 1])
    return total, largest


@prism.device
@requires(thread[1])
@template(TILE=constexpr(int))
def start_of(latest: uint32 @ thread[1], first: int32 @ thread[1], since: int64 @ thread[1]) -> int64 @ thread[1]:
    """Where the start stands that a share of `look_back_starts` names, from tile `first` on; `since` if there is none."""
    return int64(first + int32(latest >> 16)) * TILE + int64(latest & 0xFFFF) - 1 if latest != 0 else since


EXAMPLES = {
    "encode": {
        "T": "float32", "H": "float32", "TI": "float32", "C": "float32", "THREADS": 256, "ITEMS": 24, "WIDTH": 4, "BLOCKS": 2,
        "WORDS": 2,
    },
}
