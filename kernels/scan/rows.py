"""Rows of small elements: 16 bytes in four words of a thread's registers, taken apart no further than an operator needs.

Elements lie in a word lowest first. Numbers that are computed with (`T`) may be wider than elements (`TI`): what is stored
is cut off, or rounded. `FORM` says which short way there is for an operator: that of `SUM`, `MAX`, `MIN`, or none, `ANY`.
"""

from prism.lang import (
    bfloat16, block, byte_permute, const, constexpr, count, dp2a_lo, dp4a, dtype, float16, function, funnel_shift_left, group, id,
    int8, int32, load_vector, max_s16x2, max_u16x2, min_s16x2, min_u16x2, partition, prism, ptr, requires, shuffle, store_vector,
    template, thread, uint32, vector,
)
from prism.kernels.scan.tiles import place
from prism.kernels.scan.words import bits_of, element, first_row, last_row, load_row, row_of, slide, words_of

ANY, SUM, MAX, MIN = range(4)


# -- one element of a word ------------------------------------------------------------------------------------------------


@prism("device")
@requires(thread[1])
@template(SIGNED=constexpr(bool), FORM=constexpr(int))
def extreme(a: uint32 @ thread[1], b: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """The larger, or smaller, of both 16-bit halves."""
    if SIGNED:
        return max_s16x2(a, b) if FORM == MAX else min_s16x2(a, b)
    else:
        return max_u16x2(a, b) if FORM == MAX else min_u16x2(a, b)


# -- a row ----------------------------------------------------------------------------------------------------------------


@prism("device")
@requires(thread[1])
@template(TI=dtype, T=dtype, OP=function, WIDTH=constexpr(int), FORM=constexpr(int))
def total_of_row(row: uint32[4] @ thread[1]) -> T @ thread[1]:
    """`OP` of a row's elements."""
    if FORM == SUM and WIDTH == 16:
        sum: uint32 = 0
        for i in range(4):
            sum = dp4a(row[i], uint32(0x01010101), sum)
        return T(sum)
    elif FORM == SUM and TI != float16 and TI != bfloat16:
        pairs: uint32 = 0
        for i in range(4):
            pairs = dp2a_lo(row[i], uint32(0x0101), pairs)
        return T(pairs)
    elif (FORM == MAX or FORM == MIN) and WIDTH == 16:
        # Bytes are compared as the high halves of 16 bits: the odd ones where they are, the even ones moved there.
        odd: uint32 = row[0]
        even: uint32 = row[0] << 8
        for i in range(1, 4):
            odd = extreme(odd, row[i], SIGNED=TI == int8, FORM=FORM)
            even = extreme(even, row[i] << 8, SIGNED=TI == int8, FORM=FORM)
        both: uint32 = extreme(odd, even, SIGNED=TI == int8, FORM=FORM)
        return OP(element(both, 1, TI=TI, T=T, WIDTH=WIDTH), element(both, 3, TI=TI, T=T, WIDTH=WIDTH))
    else:
        total: T = element(row[0], 0, TI=TI, T=T, WIDTH=WIDTH)
        for k in range(1, WIDTH):
            total = OP(total, element(row[k * 4 // WIDTH], k % (WIDTH // 4), TI=TI, T=T, WIDTH=WIDTH))
        return total


@prism("device")
@requires(thread[1])
@template(TI=dtype, T=dtype, OP=function, WIDTH=constexpr(int), FORM=constexpr(int), EXCLUSIVE=constexpr(bool))
def scan_row(row: uint32[4] @ thread[1], before: T @ thread[1]):
    """Replace each element by `OP(before, ...)` of those up to it; `EXCLUSIVE` leaves out itself.

    Cost: a sum of bytes, 7 instructions a word; of 16-bit integers, 3; the extreme of bytes, 10.
    """
    BITS: constexpr(int) = 128 // WIDTH
    first: uint32 = bits_of(TI(before), WIDTH=WIDTH)
    if FORM == SUM and WIDTH == 16:
        # 16 bits for each sum: of the bytes up to the odd ones, and, less those, up to the even ones.
        base: uint32 = byte_permute(first, 0, 0x4040)
        for i in range(4):
            odd: uint32 = byte_permute(row[i], 0, 0x4341)
            upto: uint32 = ((row[i] & uint32(0x00FF00FF)) + odd) * uint32(0x00010001) + base
            row[i] = byte_permute(upto - odd, upto, 0x6240)
            base = byte_permute(upto, 0, 0x4242)
    elif FORM == SUM and TI != float16 and TI != bfloat16:
        sum: uint32 = first
        for i in range(4):
            low: uint32 = sum + row[i]
            sum = low + (row[i] >> 16)
            row[i] = byte_permute(low, sum, 0x5410)
    elif (FORM == MAX or FORM == MIN) and WIDTH == 16:
        last: uint32 = byte_permute(first, 0, 0x0404)  # what came before, as the high bytes of both halves
        for i in range(4):
            odd_bytes: uint32 = row[i] & uint32(0xFF00FF00)
            even_bytes: uint32 = byte_permute(row[i], 0, 0x2404)
            pair: uint32 = extreme(odd_bytes, even_bytes, SIGNED=TI == int8, FORM=FORM)
            lower: uint32 = extreme(byte_permute(pair, 0, 0x1010), pair, SIGNED=TI == int8, FORM=FORM)
            reached: uint32 = extreme(lower, last, SIGNED=TI == int8, FORM=FORM)
            earlier: uint32 = byte_permute(last, reached, 0x5410)
            row[i] = byte_permute(extreme(even_bytes, earlier, SIGNED=TI == int8, FORM=FORM), reached, 0x7351)
            last = byte_permute(reached, 0, 0x3232)
    else:
        running: T = before
        for i in range(4):
            word: uint32 = 0
            for k in range(WIDTH // 4):
                running = OP(running, element(row[i], k, TI=TI, T=T, WIDTH=WIDTH))
                word = word | bits_of(TI(running), WIDTH=WIDTH) << (BITS * k)
            row[i] = word
    if EXCLUSIVE:
        carried: uint32 = first << (32 - BITS)
        for i in range(4):
            inclusive: uint32 = row[i]
            row[i] = funnel_shift_left(carried, inclusive, BITS)
            carried = inclusive


# -- a tile ---------------------------------------------------------------------------------------------------------------


@prism("device")
@requires(block[1], thread[32])
@template(TI=dtype, HELD=constexpr(int), WIDTH=constexpr(int), PARTS=constexpr(int), REVERSE=constexpr(bool))
def load_rows(
    x: ptr(const(TI)) @ block[1], words: uint32[HELD] @ thread[1], valid: int32 @ block[1], otherwise: TI @ block[1],
    skew: int32 @ block[1], before: int32 @ block[1],
):
    """Spread the tile that starts at `x[0]` over the block's registers; elements from `valid` on become `otherwise`.

    Perspective: block, of any number of warps.
    Shapes:      `HELD / 4` rows a thread, of `WIDTH` elements, 16 bytes, as many in each of the tile's `PARTS`; element `k` of
                 a part's row `j` is element `place() + j * 32 * WIDTH + k` of the part. With `REVERSE` the tile's last element
                 is taken for its first, and so on. Elements below `before` become `otherwise` too. `skew`: how many elements
                 stand between an aligned one and `x[0]`; less than 0: it is not known.
    Cost:        where all elements are there, an access a row if `skew` is 0; if it is more, and all from `before` on are there,
                 one more a part and 4 shuffles a row, but not with `REVERSE`; else as of `load_row`. No barrier.
    Test:        tests/kernels/test_scan_packed.py
    """
    ROWS: constexpr(int) = HELD // 4
    EACH: constexpr(int) = ROWS // PARTS
    part: int32 @ block[1] = count(thread[1]) * EACH * WIDTH
    tile: int32 @ block[1] = part * PARTS
    at: int32 @ thread[1] = place(ITEMS=EACH * WIDTH, WIDTH=WIDTH)
    first: int32 @ thread[1] = tile - WIDTH - at if REVERSE else at
    if not REVERSE and skew > 0 and valid >= tile:
        t: int32 @ thread[1] = id()
        lane: int32 @ thread[1] = t % 32
        end: int32 @ block[1] = count(thread[1]) - 32  # the last warp's first thread
        more: uint32[4 * PARTS] @ thread[1]  # the first lane's: what the last lane goes on with
        with partition(x, thread[1], offset=at - skew) as mine:
            with group(thread[1]):
                for j in range(ROWS + PARTS):
                    ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH
                    if j >= ROWS:
                        ahead = (j - ROWS) * part + (EACH if lane == 0 else EACH - 1) * 32 * WIDTH
                    with partition(mine, thread[1], offset=ahead) as source:
                        loaded: vector(TI, WIDTH)
                        missing: int32 = before + skew - at - ahead  # elements of the first row's vectors
                        if ((j == 0 or (EACH == 1 and j == ROWS)) and missing > 0) or (j == ROWS + PARTS - 1 and t == end):
                            for k in range(WIDTH):  # not what stands beside the tile
                                loaded[k] = source[max(k, missing) if missing > 0 else min(k, skew - 1)]
                        else:
                            loaded = load_vector(source[0], WIDTH)
                        raw: uint32[4]
                        words_of(loaded, raw, TI=TI, WIDTH=WIDTH, REVERSE=False)
                        for i in range(4):
                            if j < ROWS:
                                words[(4 * j + i) % HELD] = raw[i]
                            else:
                                more[(4 * (j - ROWS) + i) % (4 * PARTS)] = raw[i]
        for j in range(ROWS):
            both: uint32[8] @ thread[1]
            for i in range(4):
                both[i] = words[4 * j + i]
                after: uint32 @ thread[1] = more[4 * (j // EACH) + i] if j % EACH == EACH - 1 else words[(4 * j + 4 + i) % HELD]
                both[4 + i] = shuffle(after if lane == 0 else words[4 * j + i], lane + 1)
            row: uint32[4] @ thread[1]
            slide(both, skew * (16 // WIDTH), row)
            with group(thread[1]):
                if j == 0 and at < before:
                    edge: vector(TI, WIDTH) = row_of(row, TI=TI, WIDTH=WIDTH, REVERSE=False)
                    for k in range(WIDTH):
                        edge[k] = edge[k] if k >= before else otherwise
                    words_of(edge, row, TI=TI, WIDTH=WIDTH, REVERSE=False)
                for i in range(4):
                    words[4 * j + i] = row[i]
    elif skew == 0 and before == 0 and valid >= tile:
        with partition(x, thread[1], offset=first) as mine:
            with group(thread[1]):
                for j in range(ROWS):
                    ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH
                    with partition(mine, thread[1], offset=-ahead if REVERSE else ahead) as source:
                        raw: uint32[4]
                        words_of(load_vector(source[0], WIDTH), raw, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE)
                        for i in range(4):
                            words[4 * j + i] = raw[i]
    else:  # as in `tiles.load_tile`
        lowest: int32 @ block[1] = first_row(before, skew, WIDTH=WIDTH)
        highest: int32 @ block[1] = last_row(valid, skew, WIDTH=WIDTH)
        with partition(x, thread[1], offset=first) as mine:
            with group(thread[1]):
                if skew == 0 and lowest <= highest:
                    for j in range(ROWS):
                        ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH
                        here: int32 = first - ahead if REVERSE else first + ahead
                        with partition(mine, thread[1], offset=min(max(here, lowest), highest) - first) as source:
                            raw: uint32[4]
                            words_of(load_vector(source[0], WIDTH), raw, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE)
                            for i in range(4):
                                words[4 * j + i] = raw[i]
                for j in range(ROWS):
                    ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH
                    here: int32 = first - ahead if REVERSE else first + ahead
                    if skew != 0 or not lowest <= here <= highest:
                        with partition(mine, thread[1], offset=here - first) as source:
                            raw: uint32[4]
                            row: vector(TI, WIDTH)
                            if skew > 0 and lowest <= here <= highest:
                                load_row(source, raw, skew, TI=TI, WIDTH=WIDTH)
                                row = row_of(raw, TI=TI, WIDTH=WIDTH, REVERSE=False)
                            else:
                                for k in range(WIDTH):
                                    row[k] = source[k] if before - here <= k < valid - here else otherwise
                            words_of(row, raw, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE)
                            for i in range(4):
                                words[4 * j + i] = raw[i]


@prism("device")
@requires(block[1], thread[32])
@template(
    TI=dtype, T=dtype, HELD=constexpr(int), EACH=constexpr(int), OP=function, WIDTH=constexpr(int), FORM=constexpr(int),
    EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
def store_scan(
    y: ptr(TI) @ block[1], words: uint32[HELD] @ thread[1], bases: T[EACH] @ thread[1], prefix: T @ block[1],
    lower: T @ block[1], valid: int32 @ block[1], aligned: bool @ block[1], before: int32 @ block[1],
):
    """Store the scan of the tile in `words` at `y[0]`: row `j` behind `OP(prefix, bases[j])`; what `load_rows` replaces is not.

    Fewer bases than rows are those of bytes' sums in two parts: row `j` of the second is behind `prefix`, `lower`, and the
    highest byte of `bases[j]`.

    Perspective, Shapes, Test: as `load_rows`.
    Cost:        an access a row if `aligned`, where all its elements are there, else one an element; no barrier.
    Errors:      if `aligned`, `y` must be, to 16 bytes.
    """
    ROWS: constexpr(int) = HELD // 4
    PARTS: constexpr(int) = ROWS // EACH
    part: int32 @ block[1] = count(thread[1]) * EACH * WIDTH
    tile: int32 @ block[1] = part * PARTS
    whole: bool @ block[1] = aligned and before == 0 and valid >= tile
    at: int32 @ thread[1] = place(ITEMS=EACH * WIDTH, WIDTH=WIDTH)
    first: int32 @ thread[1] = tile - WIDTH - at if REVERSE else at
    with partition(y, thread[1], offset=first, races="allow") as mine:  # rows of one thread lie among those of the others
        if whole:
            with group(thread[1]):
                for j in range(ROWS):
                    ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH
                    with partition(mine, thread[1], offset=-ahead if REVERSE else ahead) as target:
                        row: uint32[4]
                        scanned_row(
                            words, bases, prefix, lower, j, row, TI=TI, OP=OP, WIDTH=WIDTH, FORM=FORM, EXCLUSIVE=EXCLUSIVE,
                        )
                        store_vector(target[0], row_of(row, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE), cache="no_allocate")
        else:
            with group(thread[1]):
                for j in range(ROWS):
                    ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH
                    with partition(mine, thread[1], offset=-ahead if REVERSE else ahead) as target:
                        row: uint32[4]
                        scanned_row(
                            words, bases, prefix, lower, j, row, TI=TI, OP=OP, WIDTH=WIDTH, FORM=FORM, EXCLUSIVE=EXCLUSIVE,
                        )
                        stored: vector(TI, WIDTH) = row_of(row, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE)
                        here: int32 = first - ahead if REVERSE else first + ahead
                        if aligned and before <= here and here + WIDTH <= valid:
                            store_vector(target[0], stored, cache="no_allocate")
                        else:
                            for k in range(WIDTH):
                                if before - here <= k < valid - here:
                                    target[k] = stored[k]


@prism("device")
@requires(thread[1])
@template(
    TI=dtype, T=dtype, HELD=constexpr(int), EACH=constexpr(int), OP=function, WIDTH=constexpr(int), FORM=constexpr(int),
    EXCLUSIVE=constexpr(bool),
)
def scanned_row(
    words: uint32[HELD] @ thread[1], bases: T[EACH] @ thread[1], prefix: T @ thread[1], lower: T @ thread[1],
    j: int32 @ thread[1], row: uint32[4] @ thread[1],
):
    """The scan of row `j` of a tile, as `store_scan` stores it."""
    for i in range(4):
        row[i] = words[4 * j + i]
    before: T = OP(prefix, bases[j % EACH])
    if j >= EACH:
        before = prefix + lower + T(uint32(bases[j % EACH]) >> 24)
    scan_row(row, before, TI=TI, OP=OP, WIDTH=WIDTH, FORM=FORM, EXCLUSIVE=EXCLUSIVE)
