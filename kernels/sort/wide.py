"""A radix sort of floats by three digits of 10 bits, where few of the 512 signs and exponents occur, as in most data.

An exponent that no key has leaves a gap between keys. Without the gaps below the least and above the largest exponent of each
sign 30 bits tell keys apart, and three passes sort what four take by bytes. Which exponents occur is counted with the digits.
Where they are too many, or there are NaNs of several bits, or a negative number near zero, nothing is done here.
"""

from prism.lang import (
    atomic_add, atomic_max, attr, block, claim, const, constexpr, count, dtype, grid, group, id, int32, int64, mailbox, one,
    partition, popcount, prism, ptr, requires, shared, static_assert, template, thread, uint16, uint32, uint64,
    wrapping_add, wrapping_subtract,
)
from prism.kernels.sort.halves import count_halves, rank_halves
from prism.kernels.sort.order import INTEGER
from prism.kernels.sort.parts import GIVEN, NONE, PLACES, write_in_order
from prism.kernels.sort.wide_tiles import BITS, LAST, NAN, ask_for_words, is_nan, load_words, make_words, rising, write_where
from prism.lib.thread import extent, operators

PASSES = 3
DIGITS = 1 << BITS
TOPS = 1 << 12
"""Of the highest bits of a key: the sign, the exponent, and three bits more."""
NANS = 2 * DIGITS + TOPS
COUNTS = NANS + 2
"""Counts of keys by their lowest digit, by the next one, and by their highest bits; then the largest bits of a NaN, and of a
NaN's complement; 0 where there is none."""
STATE = 16
"""Words that `begin_wide` leaves, of which it uses eleven."""


@prism.kernel
@template(
    K=dtype, C=dtype, COPIES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, 1)")
def count_wide(
    x: ptr(const(K)) @ grid[1], counts: ptr(C) @ grid[1], n: int64 @ grid[1], skew: int32 @ grid[1], flip: K @ grid[1],
):
    """Add to `counts` how many of the `n` elements of `x` have which digit.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`: bits of floats. `counts`: `COUNTS`; they begin as zero. `skew`, `COPIES`: as of `count_digits`; there are
                 fewer of the highest bits.
    Test:        tests/kernels/test_sort_wide.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    FEWER: constexpr(int) = max(COPIES // 4, 1)
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with group(block[1]):
        copy: int32 @ thread[1] = id() & COPIES - 1
        at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
        bins: shared(uint32[2 * DIGITS * COPIES])
        tops: shared(uint32[TOPS * FEWER])
        keys: K[ITEMS] @ thread[1]
        ahead: K[ITEMS] @ thread[1]  # of the block's next tile: its loads are under way while this one is counted
        nans: K[2] @ thread[1]  # the largest bits of a NaN, and of one's complement
        for k in range(2):
            nans[k] = 0

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1]):
            with partition(x, block[1], offset=int64(tile) * TILE) as source:
                block.load_tile(
                    source, ahead, extent(tile, n, TILE=TILE), 0, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False,
                )

        block.fill(bins, 0, 2 * DIGITS * COPIES)
        block.fill(tops, 0, TOPS * FEWER)
        if me < tiles:
            load(me)
        for tile in range(me, tiles, blocks):
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            with group(thread[1]):
                least: K = ~K(0)  # of keys of the first exponent and the last one, which are few: the others are above 2^24
                for k in range(ITEMS):
                    keys[k] = rising(ahead[k], flip)
                    least = min(least, wrapping_add(keys[k], K(1 << 23)))
                if least < K(1 << 24):
                    for k in range(ITEMS):
                        if is_nan(ahead[k]):
                            keys[k] = K(NAN)
                            nans[0] = max(nans[0], ahead[k])
                            nans[1] = max(nans[1], ~ahead[k])
            if tile + blocks < tiles:
                load(tile + blocks)
            with group(thread[1]):
                for k in range(ITEMS):
                    if many == TILE or at + (k // WIDTH * 32 * WIDTH + k % WIDTH) < many:
                        low: int32 = int32(keys[k]) & DIGITS - 1
                        middle: int32 = int32(keys[k] >> BITS) & DIGITS - 1
                        top: int32 = int32(keys[k] >> 2 * BITS)
                        atomic_add(bins[low * COPIES + copy], 1, scope="block")
                        atomic_add(bins[(DIGITS + middle) * COPIES + copy], 1, scope="block")
                        atomic_add(tops[top * FEWER + copy % FEWER], 1, scope="block")
        grid.histogram(bins, counts, 2 * DIGITS, COPIES=COPIES)
        grid.histogram(tops, counts, TOPS, 2 * DIGITS, COPIES=FEWER)
        with group(thread[1]):
            for k in range(2):
                if nans[k] != 0:
                    atomic_max(counts[NANS + k], C(nans[k]))


@prism.kernel
@template(K=dtype, C=dtype)
@requires(grid[1], block[1], thread[1024])
def begin_wide(
    counts: ptr(const(C)) @ grid[1], starts: ptr(C) @ grid[1], state: ptr(K) @ grid[1], other: ptr(uint32) @ grid[1],
    n: int64 @ grid[1], flip: K @ grid[1],
):
    """Find where each digit begins, and whether keys have few enough exponents; else `other[0]` becomes 1.

    Perspective: grid, of one block of 1024 threads.
    Shapes:      `counts`: of `count_wide`. `starts`: `DIGITS` for each pass, 0 before. `state`: `STATE`, of which 0 ... 2 are
                 what is added to keys below, at, and above zero, 3 and 4 where the first two of these end, and 5 the passes, as
                 bits, that are passed over; all where there is nothing to do. 6 is added to keys of the last exponent, which
                 begin at 7; those of the first one end at 8; 9 are the bits of NaN, and 10 says whether these three are needed.
                 `other`: one word, 0 before.
    Test:        tests/kernels/test_sort_wide.py
    """
    MOST: constexpr(int) = DIGITS // 8
    ALL: constexpr(int) = (1 << PASSES) - 1
    zero: int32 @ grid[1] = 256 if flip == 0 else 255  # the exponent of 0.0, and of numbers that are nearly 0
    with (
        partition(starts, block[1], races="none") as begins, partition(state, block[1]) as results,
        partition(other, block[1]) as mark, group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        sums: C[4] @ thread[1]
        same: uint32 @ thread[1] = 0
        for p in range(2):
            here: C[1] @ thread[1]
            here[0] = counts[p * DIGITS + t]
            same = same | uint32(1 if int64(here[0]) == n else 0) << p
            block.scan(here, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
            with partition(begins, thread[1], offset=p * DIGITS + t, races="none") as own, group(thread[1]):
                own[0] = here[0]
        exponent: int32 @ thread[1] = t // 2
        found: C @ thread[1] = 0
        for k in range(4):
            sums[k] = counts[2 * DIGITS + 4 * t + k]
            found = found + sums[k]
            same = same | uint32(1 if int64(sums[k]) == n else 0) << 2
        there: bool @ thread[1] = found != 0
        refused: bool @ thread[1] = there and exponent == 511 - zero
        is_below: bool @ thread[1] = there and exponent > 0 and exponent < zero
        is_above: bool @ thread[1] = there and exponent > zero and exponent < 511
        least_below: int32 @ block[1] = block.reduce(exponent if is_below else 512, OP=operators.minimum)
        most_below: int32 @ block[1] = block.reduce(exponent if is_below else 0, OP=operators.maximum)
        least_above: int32 @ block[1] = block.reduce(exponent if is_above else 512, OP=operators.minimum)
        most_above: int32 @ block[1] = block.reduce(exponent if is_above else 0, OP=operators.maximum)
        zeros: bool @ block[1] = block.any(there and exponent == zero)
        one_first: bool @ block[1] = block.any(there and exponent == 0)  # an infinity
        one_last: bool @ block[1] = block.any(there and exponent == 511)  # the other one, or NaN
        first: int32 @ block[1] = 1 if one_first else 0
        below: int32 @ block[1] = first + max(most_below - least_below + 1, 0)
        around: int32 @ block[1] = below + (1 if zeros else 0)
        above: int32 @ block[1] = around + max(most_above - least_above + 1, 0)
        exponents: int32 @ block[1] = above + (1 if one_last else 0)
        largest: K @ block[1] = K(counts[NANS])
        several: bool @ block[1] = largest != 0 and largest != ~K(counts[NANS + 1])  # NaNs of several bits
        wrong: bool @ block[1] = block.any(refused) or several
        passed: uint32 @ block[1] = block.reduce(same, OP=operators.bitwise_or)
        place: int32 @ thread[1] = 0  # of the exponent among those that occur
        with group(thread[1]):
            if exponent == 511:
                place = above
            elif exponent > zero:
                place = around + exponent - least_above
            elif exponent == zero:
                place = below
            elif exponent > 0:
                place = first + exponent - least_below
        with group(thread[1]):  # a thread has four of 4096, side by side
            sum: C = 0
            for k in range(4):
                mine: C = sums[k]
                sums[k] = sum
                sum = sum + mine
            found = sum
        whole: C[1] @ thread[1]
        whole[0] = found
        block.scan(whole, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
        takes: bool @ block[1] = not wrong and exponents <= MOST
        with (
            partition(begins, thread[1], offset=lambda at: 2 * DIGITS + at, races="none") as own, group(thread[1]),
        ):
            if takes and there:
                for k in range(4):
                    own[8 * place + 4 * (t % 2) + k] = whole[0] + sums[k]
        with claim(results, thread[1]) as own_state, claim(mark, thread[1]) as own_mark, one(thread):
            own_state[0] = wrapping_subtract(K(first) << 23, K(least_below) << 23)
            own_state[1] = wrapping_subtract(K(below) << 23, K(zero) << 23)
            own_state[2] = wrapping_subtract(K(around) << 23, K(least_above) << 23)
            own_state[3] = K(below) << 23
            own_state[4] = K(around) << 23
            own_state[5] = K(ALL if not takes else passed & ALL >> 1 if passed == ALL else passed)
            own_state[6] = wrapping_subtract(K(above) << 23, K(LAST))
            own_state[7] = K(above) << 23 if one_last else ~K(0)
            own_state[8] = K(first) << 23
            own_state[9] = largest
            own_state[10] = K(1 if one_first or one_last else 0)
            if not takes:
                own_mark[0] = 1


@prism.device
@requires(block[1], thread["THREADS"])
@template(C=dtype, EACH=constexpr(int), THREADS=constexpr(int), WORDS=constexpr(int))
def find_wide_targets(
    words: ptr(mailbox(C)) @ grid[1], starts: ptr(const(C)) @ grid[1], targets: ptr(C) @ block[1],
    totals: uint32[EACH] @ thread[1], tile: int32 @ block[1], epoch: uint32 @ block[1], step: int32 @ grid[1],
):
    """Ask how often each digit occurs in the tiles before: so `targets` becomes where the tile's part of each belongs.

    `targets`: where digits begin in the tile. `totals`: how often the thread's digits occur in the tile.
    """
    ROWS: constexpr(int) = EACH // 2
    at: int32 @ thread[1] = block.place(ITEMS=ROWS, WIDTH=1)
    before: C[EACH] @ thread[1]
    grid.look_back_more_digits(words, tile, totals, epoch, before, THREADS=THREADS, WORDS=WORDS)
    with partition(targets, thread[1], offset=at, races="none") as own, group(thread[1]):
        for k in range(EACH):
            d: int32 = k // ROWS * (DIGITS // 2) + k % ROWS * 32
            own[d] = starts[step * DIGITS + at + d] + before[k] - own[d]


@prism.device
@requires(block[1], thread[1])
@template(C=dtype, APART=constexpr(int))
def begin_apart(
    words: ptr(mailbox(C)) @ grid[1], tile: int32 @ block[1], tiles: int32 @ block[1], blocks: int32 @ block[1],
    epoch: uint32 @ block[1],
):
    """Wait with a block's first tile until the digits of the one `blocks // APART` before are counted, if that is a first one.

    Else all blocks read at once, then rank at once, and then write at once, and memory waits for them meanwhile.
    """
    before: int32 @ block[1] = tile - blocks // APART
    if 0 <= before and tile < blocks and blocks < tiles:
        grid.receive_totals(words, int64(before) * DIGITS, 1, 1, 1, C(0), epoch, OP=operators.add, WORDS=1)


@prism.kernel
@template(
    K=dtype, W=dtype, V=dtype, VO=dtype, C=dtype, VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int), APART=constexpr(int, default=1),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_wide(
    x: ptr(const(K)) @ grid[1], spare: ptr(W) @ grid[1], between: ptr(W) @ grid[1], y: ptr(K) @ grid[1],
    given: ptr(const(V)) @ grid[1], values: ptr(V) @ grid[1], positions: ptr(VO) @ grid[1], starts: ptr(const(C)) @ grid[1],
    state: ptr(const(K)) @ grid[1], n: int64 @ grid[1], step: int32 @ grid[1], flip: K @ grid[1],
    words: ptr(mailbox(C)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """Put `n` floats in the order of digit `step` of 10 bits of their keys; the last pass writes results.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `VALUES`: as of `sort_digit`. `W`: K; with values or positions a word of both. Passes write `spare` and `between`
                 in turn, of `n` words each, and the last one `y`, floats, and `values`; or `positions`. Keys alone are words, so
                 `between` may be `y`. `words` and `control`: as of `sort_digit`, of one row, but `DIGITS` words a tile. `starts`,
                 `state`: of `begin_wide`.
    Errors:      passes follow each other, and find `state` and all arrays as they left them.
    Cost:        as of `sort_digit`. A block holds one tile, and draws its next one behind its look-back. Beside a given value a
                 word's place in the tile, of 2 bytes, tells in which order equal digits came.
    Test:        tests/kernels/test_sort_wide.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    WARPS: constexpr(int) = THREADS // 32
    EACH: constexpr(int) = DIGITS // THREADS
    static_assert(EACH * THREADS == DIGITS and EACH >= 2, "all threads have equally many digits, of both halves")
    static_assert(K.bytes == 4 and V.bytes == 4, "a word has room for a key and what goes along")
    static_assert(W.bytes == (4 if VALUES == NONE else 8) and TILE <= 1 << 16, "16 bits tell a place in the tile")
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    shift: int32 @ grid[1] = BITS * step + 8 * (W.bytes - K.bytes)
    with (
        partition(spare, block[1], races="none") as spare_words,
        partition(between, block[1], races="none") as more_words,
        partition(y, block[1], races="none") as y_keys,
        partition(values, block[1], races="none") as y_values,
        partition(positions, block[1], races="none") as result,
        group(block[1]),
    ):
        passed: uint32 @ block[1] = uint32(state[5])
        first: bool @ block[1] = passed & (uint32(1) << step) - 1 == (uint32(1) << step) - 1  # nothing has been moved so far
        any: bool @ block[1] = state[10] != 0
        behind: int32 @ block[1] = PASSES - 1 - step - int32(popcount(passed >> step + 1))  # how many passes will move something

        @requires(block[1], thread["THREADS"])
        def move_tiles():
            """Draw tiles, put each in the order of the digit, and write it where its digits belong, until all are drawn."""
            table: shared(uint32[WARPS * DIGITS // 2])
            common: shared(int32[1])
            targets: shared(C[DIGITS])
            totals: uint32[EACH] @ thread[1]  # how often the thread's digits occur in the tile
            held: W[ITEMS] @ thread[1]
            parts: K[5] @ thread[1]
            for k in range(5):
                parts[k] = state[k]

            @requires(block[1], thread["THREADS"])
            def count_digits(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                """Count the digits of the tile that was loaded, and publish them."""
                counts: shared(uint32[WARPS * DIGITS])  # where the tile is ranked afterwards
                make_words(held, tile, n, flip, parts, state, any, first, THREADS=THREADS)
                count_halves(
                    counts, table, common, targets, held, totals, shift, THREADS=THREADS, BITS=BITS, WHOLE=VALUES != NONE,
                )
                grid.publish_more_digits(words, tile, totals, epoch, THREADS=THREADS)

            @requires(block[1], thread["THREADS"])
            def move(tile: int32 @ block[1], epoch: uint32 @ block[1]) -> int32 @ block[1]:
                """Put the tile in order, and write it where its digits belong. Returns the next tile."""
                sorted: shared(W[TILE])
                ids: shared(uint16[TILE if VALUES == GIVEN else 1])  # where they stood in the tile
                beside: shared(W[1])  # not used
                often: int32 @ block[1] = common[0]
                rank_halves(
                    table, held, sorted, ids, shift, often, BATCH=BATCH, BITS=BITS, WHOLE=VALUES != NONE, BESIDE=VALUES == GIVEN,
                )
                find_wide_targets(words, starts, targets, totals, tile, epoch, step, THREADS=THREADS, WORDS=WORDS)
                ticket: uint64 @ thread[1] = grid.draw(control)
                following: int32 @ block[1] = grid.next_tile(ticket)
                ask_for_words(x, given, spare_words, more_words, following, n, first, behind, VALUES=VALUES, TILE=TILE)
                many: int32 @ block[1] = extent(tile, n, TILE=TILE)

                @requires(block[1], thread["THREADS"])
                def write(
                    words_of: ptr(const(W)) @ block[1], values_of: ptr(const(W)) @ block[1],
                    ids_of: ptr(const(uint16)) @ block[1],
                ) -> bool @ block[1]:
                    """Write all; say whether two elements stand in the wrong order."""
                    return write_where(
                        words_of, ids_of, targets, spare_words, more_words, y_keys, y_values, result, many, shift, flip, parts,
                        state, any, first and VALUES == NONE, behind, VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
                    )

                write_in_order(
                    sorted, beside, ids, many, shift, W(0), first and VALUES == NONE, KIND=INTEGER,
                    VALUES=PLACES if VALUES == GIVEN else NONE, WHOLE=TILE, THREADS=THREADS, WRITE=write, BITS=BITS,
                )  # of the first pass equal keys alone are the same: whichever stands first
                return following

            launch: grid.Ticket @ block[1] = grid.tiles(control)
            tile: int32 @ block[1] = launch.tile
            if APART > 1:
                begin_apart(words, tile, tiles, blocks, launch.epoch, APART=APART)
            while tile < tiles:
                load_words(
                    x, given, spare_words, more_words, held, tile, n, first, behind, VALUES=VALUES, THREADS=THREADS,
                )  # not at the end: so no register holds a word meanwhile
                with group(block[1]):  # shared memory of this is that of the next one afterwards
                    count_digits(tile, launch.epoch)
                with group(block[1]):
                    tile = move(tile, launch.epoch)
            if tile == tiles + blocks - 1:  # every block has drawn its last ticket
                grid.count_launch(control, words, capacity, tiles * DIGITS, launch.epoch, 0)

        if (passed >> step & 1) == 0:
            move_tiles()


EXAMPLES = {
    "count_wide": {"K": "uint32", "C": "uint32", "COPIES": 16, "THREADS": 1024, "ITEMS": 8, "WIDTH": 4},
    "begin_wide": {"K": "uint32", "C": "uint32"},
    "sort_wide": {
        "K": "uint32", "W": "uint32", "V": "uint32", "VO": "int64", "C": "uint32", "VALUES": NONE, "THREADS": 512, "ITEMS": 92,
        "BATCH": 4, "BLOCKS": 1, "WORDS": 1,
    },
}
