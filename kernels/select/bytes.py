"""Bytes that are kept, close together: four at a time, by a table of what four flags say, and written as words."""

from prism.lang import (
    atomic_or,
    bitcast,
    block,
    byte_permute_or_sign,
    constexpr,
    dp4a,
    dtype,
    funnel_shift_left,
    funnel_shift_right,
    group,
    id,
    int32,
    load_vector,
    partition,
    prism,
    ptr,
    requires,
    shared,
    store_vector,
    template,
    thread,
    uint8,
    uint32,
    vector,
    wrapping_multiply,
)


@prism.device
@requires(block[1], thread[32])
@template(THREADS=constexpr(int))
def fill_selectors(table: shared(uint8[80]) @ block[1]):
    """Fill a table with what puts the kept ones of four bytes close together: a word for each four flags `f`, at `4 * f`.

    Perspective: block, of `THREADS` threads.
    Shapes:      the lower half of a word is a selector, as of `byte_permute_or_sign`, of the bytes that `f` keeps, and of zeros
                 behind them; the third byte says how many `f` keeps. Behind the 16 words stands a 1: see `one_of`.
    """
    t: int32 @ thread[1] = id()
    with partition(table, thread[1], offset=4 * t) as own, group(thread[1]):
        for f in range(t, 17, THREADS):
            kept: uint32 = 0
            many: int32 = 0
            for k in range(4):
                if f >> k & 1 != 0:
                    kept = kept | uint32(k) << uint32(4 * many)
                    many = many + 1
            entry: uint32 = 1
            if f < 16:
                entry = kept | 0x4444 << uint32(4 * many) & 0xFFFF | uint32(many) << 16
            store_vector(own[4 * (f - t)], bitcast(entry, vector(uint8, 4)))


@prism.device
@requires(thread[1])
def one_of(table: shared(uint8[80]) @ block[1]) -> uint32 @ thread[1]:
    """1, of which a compiler does not know it: the pipe for products adds what is multiplied by it."""
    return bitcast(load_vector(table[64], 4), uint32)


@prism.device
@requires(thread[1])
def entry_of(table: shared(uint8[80]) @ block[1], fours: uint32 @ thread[1], weights: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """What `fill_selectors` has of the four flags that are the lower half of the byte that `weights` multiplies by 4."""
    return bitcast(load_vector(table[int32(dp4a(fours, weights, 0))], 4), uint32)


@prism.device
@requires(thread[1])
@template(WORDS=constexpr(int), F=dtype)
def scatter_row(
    tile: ptr(uint32) @ thread[1],
    table: shared(uint8[80]) @ block[1],
    held: uint32[WORDS] @ thread[1],
    flags: F @ thread[1],
    begin: int32 @ thread[1],
) -> (int32, uint32) @ thread[1]:
    """Write the words that bytes whose bit is set fill up to their ends, from byte `begin` on; return the next word, and where.

    What stands in the first word before them is 0. Of a word that several rows write to one alone fills the end. There are as few
    instructions of the pipe for shifts, logic and comparisons as there may be, and reads of shared memory: a product puts bytes
    where they belong in the word, and of four flags one word is read, for which no two lanes meet in a bank.
    """
    place: uint32 = uint32(begin)  # of the next byte that is written
    word: uint32 = 0  # of which it is a byte, as far as it is known
    for i in range(0, WORDS, 2):
        first: uint32 = entry_of(table, uint32(flags >> (i // 8 * 32)) & 0x0F0F0F0F, 4 << (i % 8 // 2 * 8))
        second: uint32 = entry_of(table, uint32(flags >> (i // 8 * 32 + 4)) & 0x0F0F0F0F, 4 << (i % 8 // 2 * 8))
        for k in range(2):
            entry: uint32 = first if k == 0 else second
            kept: uint32 = byte_permute_or_sign(held[i + k], 0, entry)
            now: uint32 = dp4a(entry, 0x10000, place)
            word = wrapping_multiply(kept, funnel_shift_left(0, 1, place * 8)) + word
            if (now ^ place) & 4 != 0:
                tile[int32(place >> 2)] = word
                word = funnel_shift_left(kept, 0, place * 8)
            place = now
    return int32(place >> 2), word


@prism.device
@requires(thread[1])
@template(ROOM=constexpr(int), ROWS=constexpr(int))
def merge_rests(tile: shared(uint32[ROOM]) @ block[1], spots: int32[ROWS] @ thread[1], rests: uint32[ROWS] @ thread[1]):
    """Put what `scatter_row` leaves of each row's last word into it, behind a barrier: another row fills its end."""
    for j in range(ROWS):
        if rests[j] != 0:
            atomic_or(tile[spots[j]], rests[j], scope="block")


@prism.device
@requires(thread[1])
@template(OVER=constexpr(int))
def shift_words(
    low: vector(uint32, 4) @ thread[1], high: vector(uint32, 4) @ thread[1], bits: uint32 @ thread[1]
) -> vector(uint32, 4) @ thread[1]:
    """Four of eight words, from number `OVER` on, less the lower bits of the first one: as many as the lower 5 of `bits` say."""
    words: uint32[8]
    found: vector(uint32, 4)
    for k in range(4):
        words[k] = low[k]
        words[4 + k] = high[k]
    for k in range(4):
        found[k] = funnel_shift_right(words[OVER + k], words[OVER + k + 1], bits)
    return found


@prism.device
@requires(block[1], thread[32])
@template(ROOM=constexpr(int), THREADS=constexpr(int))
def write_shifted(
    y: ptr(uint8) @ block[1],
    tile: shared(uint32[ROOM]) @ block[1],
    base: int32 @ block[1],
    many: int32 @ block[1],
    skew: int32 @ block[1],
):
    """Write `many` bytes of a tile of words, from word `base` on, from `y[0]` on: by vectors of `y`, which is `skew` past one.

    Perspective: block, of `THREADS` threads.
    Shapes:      `skew`: less than 0 where it is not known; then bytes are written.
    Cost:        of 16 bytes two shared loads of as many, and a store.
    """
    t: int32 @ thread[1] = id()
    ahead: int32 @ block[1] = many if skew < 0 else min((16 - skew) % 16, many)  # before the first whole vector
    vectors: int32 @ block[1] = (many - ahead) // 16
    with partition(y, thread[1], races="none") as out, group(thread[1]):
        for i in range(t, ahead, THREADS, unroll=False):
            out[i] = uint8(tile[base + (i >> 2)] >> uint32(8 * (i & 3)) & 0xFF)
        over: int32 = (base + (ahead >> 2)) % 4  # words between a vector of the tile and what is written first
        for v in range(t, vectors, THREADS, unroll=False):
            at: int32 = base + (ahead >> 2) - over + 4 * v
            low: vector(uint32, 4) = load_vector(tile[at], 4)
            high: vector(uint32, 4) = load_vector(tile[at + 4], 4)
            found: vector(uint32, 4)
            if over == 0:
                found = shift_words(low, high, uint32(ahead) * 8, OVER=0)
            elif over == 1:
                found = shift_words(low, high, uint32(ahead) * 8, OVER=1)
            elif over == 2:
                found = shift_words(low, high, uint32(ahead) * 8, OVER=2)
            else:
                found = shift_words(low, high, uint32(ahead) * 8, OVER=3)
            store_vector(out[ahead + 16 * v], bitcast(found, vector(uint8, 16)))
        last: int32 = ahead + 16 * vectors + t
        if last < many:
            out[last] = uint8(tile[base + (last >> 2)] >> uint32(8 * (last & 3)) & 0xFF)
