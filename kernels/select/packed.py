"""Tiles of bytes are held four in a word, and looked at so: a bit for each that is set, or that differs from the one before."""

from prism.lang import (
    block, broadcast, const, constexpr, count, dp4a, dtype, function, grid, group, id, int32, int64,
    load_vector, partition, prism, ptr, requires, shuffle_up, template, thread, uint32, vector, wrapping_multiply,
)


@prism.device
@requires(thread[1])
@template(T=dtype, H=dtype, ITEMS=constexpr(int), HELD=constexpr(int))
def hold(items: T[ITEMS] @ thread[1], held: H[HELD] @ thread[1]):
    """Put elements where they take fewer registers: bytes four in a word; others stay as they are."""
    EACH: constexpr(int) = ITEMS // HELD
    for w in range(HELD):
        if EACH == 1:
            held[w] = items[w]
        else:
            word: uint32 = 0
            for k in range(EACH):
                word = word | uint32(items[w * EACH + k]) << (k * 8)
            held[w] = word


@prism.device
@requires(thread[1])
@template(T=dtype, H=dtype, ITEMS=constexpr(int), HELD=constexpr(int))
def release(held: H[HELD] @ thread[1], items: T[ITEMS] @ thread[1]):
    """Undo `hold`."""
    EACH: constexpr(int) = ITEMS // HELD
    for w in range(HELD):
        for k in range(EACH):
            if EACH == 1:
                items[w] = held[w]
            else:
                items[w * EACH + k] = T(held[w] >> (k * 8) & 0xFF)


@prism.device
@requires(block[1], thread[32])
@template(TI=dtype, T=dtype, H=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), HELD=constexpr(int))
def load_held(
    x: ptr(const(TI)) @ block[1], held: H[HELD] @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1],
    skew: int32 @ block[1],
):
    """Load a tile as `block.load_tile` does, and hold it as `hold` does: whole vectors of bytes as the words that they are.

    Perspective: block, of any number of warps.
    """
    PIECE: constexpr(int) = min(WIDTH, 16)  # what is loaded at once
    WORDS: constexpr(bool) = WIDTH % 4 == 0 and PIECE * TI.bytes <= 16
    if HELD == ITEMS:
        block.load_tile(x, held, valid, otherwise, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False)
    elif WORDS and skew == 0 and valid >= count(thread[1]) * ITEMS:
        at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
        with partition(x, thread[1], offset=at) as mine, group(thread[1]):
            for j in range(ITEMS // PIECE):
                place: int32 = j * PIECE // WIDTH * (32 * WIDTH) + j * PIECE % WIDTH
                with partition(mine, thread[1], offset=place) as source:
                    row: vector(TI, PIECE) = load_vector(source[0], PIECE)
                    for w in range(PIECE // 4):
                        word: uint32 = 0
                        for k in range(4):
                            word = word | uint32(T(row[w * 4 + k])) << (k * 8)
                        held[j * (PIECE // 4) + w] = word
    else:
        items: T[ITEMS] @ thread[1]
        block.load_tile(x, items, valid, otherwise, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False)
        with group(thread[1]):
            hold(items, held)


@prism.device
@requires(thread[1])
def tops_of_set(word: uint32 @ thread[1], one: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """The upper bit of each byte of a word that is not zero."""
    return (wrapping_multiply(word & 0x7F7F7F7F, one) + 0x7F7F7F7F | word) & 0x80808080


@prism.device
@requires(thread[1])
@template(HELD=constexpr(int))
def gather_tops(tops: uint32[HELD] @ thread[1], halves: uint32[2] @ thread[1]):
    """Fill `halves` with a bit for each byte of words that have no bits but the upper ones of bytes.

    A product of bytes makes a number of four bits: that is no work of the pipe for shifts and logic, which has the most to do.
    """
    for h in range((HELD + 7) // 8):
        for k in range(min((HELD - 8 * h + 1) // 2, 4)):
            low: uint32 = tops[8 * h + 2 * k]
            high: uint32 = tops[8 * h + 2 * k + 1] if 8 * h + 2 * k + 1 < HELD else 0
            both: uint32 = dp4a(low, 0x08040201, dp4a(high, 0x80402010, 0))  # 128 times the eight bits
            halves[h] = both >> 7 if k == 0 else wrapping_multiply(both, 1 << max(8 * k - 7, 0)) + halves[h]


@prism.device
@requires(thread[1])
@template(F=dtype(default=uint32))
def join_halves(halves: uint32[2] @ thread[1]) -> F @ thread[1]:
    """The bits of both, or of the first alone where `F` is uint32."""
    return F(halves[0]) if F == uint32 else F(halves[0]) | F(halves[1]) << (0 if F == uint32 else 32)


@prism.device
@requires(thread[1])
@template(F=dtype(default=uint32), HELD=constexpr(int))
def flags_of_tops(tops: uint32[HELD] @ thread[1]) -> F @ thread[1]:
    """A bit for each byte of words that have no bits but the upper ones of bytes; `F` is uint32 of up to eight words."""
    halves: uint32[2] = {0}
    gather_tops(tops, halves)
    return join_halves(halves, F=F)


@prism.device
@requires(thread[1])
@template(F=dtype(default=uint32), HELD=constexpr(int))
def flags_of_bytes(held: uint32[HELD] @ thread[1], one: uint32 @ thread[1]) -> F @ thread[1]:
    """A bit for each byte of words that is not zero."""
    tops: uint32[HELD]
    for w in range(HELD):
        tops[w] = tops_of_set(held[w], one)
    return flags_of_tops(tops, F=F)


@prism.device
@requires(block[1], thread[32])
@template(F=dtype(default=uint32), HELD=constexpr(int), WIDTH=constexpr(int))
def edges_of_bytes(held: uint32[HELD] @ thread[1], edge: uint32 @ thread[1], one: uint32 @ thread[1]) -> F @ thread[1]:
    """A bit for each byte of words that differs from the one before; `edge`: what is before lane 0's first one."""
    ROW: constexpr(int) = WIDTH // 4  # words
    lane: int32 @ thread[1] = id() % 32
    before: uint32[HELD // ROW] @ thread[1]
    last: uint32 @ thread[1] = edge << 24
    tops: uint32[HELD] @ thread[1]
    with group(thread[32]):
        for j in range(HELD // ROW):
            below: uint32 @ thread[1] = shuffle_up(held[j * ROW + ROW - 1], 1)
            top: uint32 @ thread[32] = broadcast(held[j * ROW + ROW - 1], 31)
            before[j] = last if lane == 0 else below
            last = top
        with group(thread[1]):
            for w in range(HELD):
                previous: uint32 = before[w // ROW] if w % ROW == 0 else held[max(w - 1, 0)]
                tops[w] = tops_of_set(held[w] ^ dp4a(previous, 0x01000000, wrapping_multiply(held[w], 256)), one)
    return flags_of_tops(tops, F=F)


@prism.device
@requires(block[1], thread[32])
@template(
    M=dtype, C=dtype, TEST=function, BYTES=constexpr(bool), THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
)
def load_flags(
    mask: ptr(const(M)) @ grid[1], tile: int32 @ block[1], many: int32 @ block[1], n: int64 @ grid[1], near: int32 @ block[1],
    skew: int32 @ grid[1], unset: C @ grid[1],
) -> uint32 @ thread[1]:
    """Load a tile of `mask`; return the bits of the elements of which `TEST` is true. What is behind `n` is any.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `select`; `many`: how many elements the tile has. The tile that is `near` tiles on is brought near.
    """
    TILE: constexpr(int) = THREADS * ITEMS
    flags: uint32 @ thread[1] = 0
    with partition(mask, block[1], offset=int64(tile) * TILE) as source:
        if BYTES:
            words: uint32[ITEMS // 4] @ thread[1]
            load_held(source, words, many, unset, skew, ITEMS=ITEMS, WIDTH=WIDTH)
            flags = flags_of_bytes(words, 1)
        else:
            marks: C[ITEMS] @ thread[1]
            block.load_tile(source, marks, many, unset, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False)
            for k in range(ITEMS):
                flags = flags | uint32(1 if TEST(marks[k]) else 0) << k
    block.prefetch_tile(mask, tile + near, n, TILE=TILE)
    return flags
