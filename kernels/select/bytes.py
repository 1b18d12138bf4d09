"""Bytes that are kept, close together: four at a time, by a table of what four flags say, and written as words."""

from prism.lang import (
    atomic_or, bitcast, block, byte_permute_or_sign, constexpr, dp4a, dtype, funnel_shift_left, group,
    id, int32, load_vector, partition, prism, ptr, requires, shared, store_vector, template, thread, uint8, uint32, vector,
)
from prism.lib.block.compact import rank_rows


@prism("device")
@requires(block[1], thread[32])
@template(THREADS=constexpr(int))
def fill_selectors(table: shared(uint8[128]) @ block[1]):
    """Fill a table with what puts the kept ones of four bytes close together: two words for each four flags `f`, at `8 * f`.

    Perspective: block, of `THREADS` threads.
    Shapes:      the first word is a selector, as of `byte_permute_or_sign`, of the bytes that `f` keeps; the lower half of the
                 second one of the last four of four bytes before and of these, the upper half says how many `f` keeps.
    """
    t: int32 @ thread[1] = id()
    with partition(table, thread[1], offset=8 * t) as own, group(thread[1]):
        for f in range(t, 16, THREADS):
            kept: uint32 = 0
            last: uint32 = 0x3210
            many: int32 = 0
            for k in range(4):
                if f >> k & 1 != 0:
                    kept = kept | uint32(k) << uint32(4 * many)
                    last = last >> 4 | uint32(4 + k) << 12
                    many = many + 1
            entry: vector(uint32, 2)
            entry[0] = kept
            entry[1] = last | uint32(many) << 16
            store_vector(own[8 * (f - t)], bitcast(entry, vector(uint8, 8)))


@prism("device")
@requires(thread[1])
def one_of(table: shared(uint8[128]) @ block[1]) -> uint32 @ thread[1]:
    """1, of which a compiler does not know it: the pipe for products adds what is multiplied by it."""
    return bitcast(load_vector(table[16], 4), uint32)


@prism("device")
@requires(thread[1])
def entry_of(
    table: shared(uint8[128]) @ block[1], fours: uint32 @ thread[1], weights: uint32 @ thread[1]
) -> vector(uint32, 2) @ thread[1]:
    """What `fill_selectors` has of the four flags that are the lower half of the byte that `weights` multiplies by 8."""
    return bitcast(load_vector(table[int32(dp4a(fours, weights, 0))], 8), vector(uint32, 2))


@prism("device")
@requires(thread[1])
@template(WORDS=constexpr(int), F=dtype)
def scatter_row(
    tile: ptr(uint32) @ thread[1], table: shared(uint8[128]) @ block[1], held: uint32[WORDS] @ thread[1], flags: F @ thread[1],
    begin: int32 @ thread[1],
) -> (int32, uint32) @ thread[1]:
    """Write the words that bytes whose bit is set fill up to their ends, from byte `begin` on; return the next word, and where.

    What stands in the first word before them is 0. Of a word that several rows write to one alone fills the end. Instructions of
    the pipe for shifts, logic and comparisons are what bounds these kernels: so as few of them as there may be.
    """
    place: uint32 = uint32(begin)  # of the next byte that is written
    before: uint32 = 0  # the last four bytes that were kept, the last one uppermost
    for i in range(0, WORDS, 2):
        first: vector(uint32, 2) = entry_of(table, uint32(flags >> (i // 8 * 32)) & 0x0F0F0F0F, 8 << (i % 8 // 2 * 8))
        second: vector(uint32, 2) = entry_of(table, uint32(flags >> (i // 8 * 32 + 4)) & 0x0F0F0F0F, 8 << (i % 8 // 2 * 8))
        for k in range(2):
            entry: vector(uint32, 2) = first if k == 0 else second
            low: uint32 = byte_permute_or_sign(held[i + k], 0, entry[0])
            now: uint32 = dp4a(entry[1], 0x10000, place)
            if (now ^ place) & 4 != 0:
                tile[int32(place >> 2)] = funnel_shift_left(before, low, place * 8)
            before = byte_permute_or_sign(before, held[i + k], entry[1])
            place = now
    return int32(place >> 2), funnel_shift_left(before, 0, place * 8)


@prism("device")
@requires(block[1], thread[32])
@template(F=dtype, HELD=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
def store_bytes(
    y: ptr(uint8) @ block[1], held: uint32[HELD] @ thread[1], flags: F @ thread[1], before: int32 @ thread[32],
    kept: int32 @ block[1], valid: int32 @ block[1], skew: int32 @ block[1], table: shared(uint8[128]) @ block[1],
):
    """Write the bytes whose bit of `flags` is set close together, in their order, from `y[0]` on, `valid` of them.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `block.store_flagged`, of bytes that are held four in a word; `kept`: how many bits are set in all.
                 `table`: as of `fill_selectors`.
    Cost:        two barriers. Of four bytes a shared load of 8 bytes, and a shared store of each word that they fill.
    Test:        tests/kernels/test_select.py
    """
    ROWS: constexpr(int) = HELD * 4 // WIDTH
    t: int32 @ thread[1] = id()
    lead: int32 @ block[1] = max(skew, 0)  # what is written begins here in the tile, so that its vectors are those of `y`
    tile: shared(uint32[THREADS * HELD + 8], align=16) @ block[1]
    ranks: int32[ROWS] @ thread[1]
    spots: int32[ROWS] @ thread[1]
    rests: uint32[ROWS] @ thread[1]
    with group(thread[32]):
        rank_rows(flags, lead + before, ranks, WIDTH=WIDTH)
    with partition(tile, thread[1], offset=lambda place: place) as spot, group(thread[1]):
        scatter_rows(spot, table, held, flags, ranks, spots, rests, WIDTH=WIDTH)
        if t == 0 and (lead + kept) % 4 != 0:  # the last word: nobody fills it
            spot[(lead + kept) / 4] = 0
    with group(thread[1]):
        merge_rests(tile, spots, rests)
    write_words(y, tile, lead, max(valid, 0), skew < 0, THREADS=THREADS)


@prism("device")
@requires(block[1], thread[32])
@template(F=dtype, HELD=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int), WAYS=constexpr(int))
def store_bytes_apart(
    y: ptr(uint8) @ block[1], z: ptr(uint8) @ block[1], rest: ptr(uint8) @ block[1], held: uint32[HELD] @ thread[1],
    flags: F @ thread[1], others: F @ thread[1], left: F @ thread[1], before: int32 @ thread[32],
    others_before: int32 @ thread[32], kept: int32 @ block[1], others_kept: int32 @ block[1], many: int32 @ block[1],
    skew: int32 @ block[1], others_skew: int32 @ block[1], rest_skew: int32 @ block[1], table: shared(uint8[128]) @ block[1],
):
    """Write the bytes whose bit of `flags` is set from `y[0]` on, those of `others` from `z[0]` on, of `left` from `rest[0]` on.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `store_apart`, of bytes as of `store_bytes`. Each of the tile's `many` bytes has a bit in one of the three.
    Cost:        two barriers, and of each part what `store_bytes` takes.
    Test:        tests/kernels/test_select.py
    """
    ROWS: constexpr(int) = HELD * 4 // WIDTH
    t: int32 @ thread[1] = id()
    place: int32 @ thread[1] = block.place(ITEMS=4 * HELD, WIDTH=WIDTH)
    begin: int32 @ block[1] = max(skew, 0)  # where each part begins in the tile, so that its vectors are those of its array
    middle: int32 @ block[1] = (begin + kept + 15) / 16 * 16 + max(others_skew, 0)
    final: int32 @ block[1] = (middle + others_kept + 15) / 16 * 16 + max(rest_skew, 0)
    tile: shared(uint32[THREADS * HELD + 28], align=16) @ block[1]
    ranks: int32[ROWS] @ thread[1]
    others_ranks: int32[ROWS] @ thread[1]
    rest_ranks: int32[ROWS] @ thread[1]
    with group(thread[32]):
        rank_rows(flags, begin + before, ranks, WIDTH=WIDTH)
        if WAYS == 3:
            rank_rows(others, middle + others_before, others_ranks, WIDTH=WIDTH)
    for j in range(ROWS):  # of the rest, as many as stand before it and are none of the others
        rest_ranks[j] = final + place + j * 32 * WIDTH - (ranks[j] - begin)
        if WAYS == 3:
            rest_ranks[j] = rest_ranks[j] - (others_ranks[j] - middle)
    spots: int32[ROWS] @ thread[1]
    rests: uint32[ROWS] @ thread[1]
    other_spots: int32[ROWS] @ thread[1]
    other_rests: uint32[ROWS] @ thread[1]
    last_spots: int32[ROWS] @ thread[1]
    last_rests: uint32[ROWS] @ thread[1]
    end: int32 @ block[1] = final + many - kept - others_kept
    with partition(tile, thread[1], offset=lambda place: place) as spot, group(thread[1]):
        scatter_rows(spot, table, held, flags, ranks, spots, rests, WIDTH=WIDTH)
        if WAYS == 3:
            scatter_rows(spot, table, held, others, others_ranks, other_spots, other_rests, WIDTH=WIDTH)
        scatter_rows(spot, table, held, left, rest_ranks, last_spots, last_rests, WIDTH=WIDTH)
        if t == 0 and (begin + kept) % 4 != 0:  # the last word of each: nobody fills it
            spot[(begin + kept) / 4] = 0
        if WAYS == 3 and t == 0 and (middle + others_kept) % 4 != 0:
            spot[(middle + others_kept) / 4] = 0
        if t == 0 and end % 4 != 0:
            spot[end / 4] = 0
    with group(thread[1]):
        merge_rests(tile, spots, rests)
        if WAYS == 3:
            merge_rests(tile, other_spots, other_rests)
        merge_rests(tile, last_spots, last_rests)
    write_words(y, tile, begin, kept, skew < 0, THREADS=THREADS)
    if WAYS == 3:
        write_words(z, tile, middle, others_kept, others_skew < 0, THREADS=THREADS)
    write_words(rest, tile, final, many - kept - others_kept, rest_skew < 0, THREADS=THREADS)


@prism("device")
@requires(thread[1])
@template(HELD=constexpr(int), ROWS=constexpr(int), F=dtype, WIDTH=constexpr(int))
def scatter_rows(
    tile: ptr(uint32) @ thread[1], table: shared(uint8[128]) @ block[1], held: uint32[HELD] @ thread[1], flags: F @ thread[1],
    ranks: int32[ROWS] @ thread[1], spots: int32[ROWS] @ thread[1], rests: uint32[ROWS] @ thread[1],
):
    """Do `scatter_row` for each row, from its rank on; where it leaves a word, and what of it is known."""
    for j in range(ROWS):
        words: uint32[WIDTH // 4]
        for w in range(WIDTH // 4):
            words[w] = held[j * (WIDTH // 4) + w]
        spots[j], rests[j] = scatter_row(tile, table, words, flags >> (j * WIDTH), ranks[j])


@prism("device")
@requires(thread[1])
@template(ROOM=constexpr(int), ROWS=constexpr(int))
def merge_rests(tile: shared(uint32[ROOM]) @ block[1], spots: int32[ROWS] @ thread[1], rests: uint32[ROWS] @ thread[1]):
    """Put what `scatter_rows` leaves of each row's last word into it, behind a barrier: another row fills its end."""
    for j in range(ROWS):
        if rests[j] != 0:
            atomic_or(tile[spots[j]], rests[j], scope="block")


@prism("device")
@requires(block[1], thread[32])
@template(ROOM=constexpr(int), THREADS=constexpr(int))
def write_words(
    y: ptr(uint8) @ block[1], tile: shared(uint32[ROOM]) @ block[1], begin: int32 @ block[1], many: int32 @ block[1],
    loose: bool @ block[1],
):
    """Write `many` bytes of a tile of words, from byte `begin` on, from `y[0]` on: by vectors, unless `loose`.

    Perspective: block, of `THREADS` threads.
    Shapes:      unless `loose`, vectors of `tile` are those of `y`.
    """
    t: int32 @ thread[1] = id()
    end: int32 @ block[1] = begin + many
    with partition(y, thread[1], offset=-begin, races="none") as out, group(thread[1]):
        if loose:
            for i in range(begin + t, end, THREADS, unroll=False):
                out[i] = uint8(tile[i >> 2] >> uint32(8 * (i & 3)) & 0xFF)
        else:
            first: int32 = (begin + 15) / 16  # the first whole vector
            for v in range(first + t, end / 16, THREADS, unroll=False):
                store_vector(out[v * 16], bitcast(load_vector(tile[v * 4], 4), vector(uint8, 16)))
            head: int32 = begin + t
            if head < min(first * 16, end):  # before it
                out[head] = uint8(tile[head >> 2] >> uint32(8 * (head & 3)) & 0xFF)
            last: int32 = max(end / 16, first) * 16 + t  # behind the last one
            if last < end:
                out[last] = uint8(tile[last >> 2] >> uint32(8 * (last & 3)) & 0xFF)
