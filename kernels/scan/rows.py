"""Rows of small elements: 16 bytes in four words of a thread's registers, taken apart no further than an operator needs.

Elements lie in a word lowest first. Numbers that are computed with (`T`) may be wider than elements (`TI`): what is stored
is cut off, or rounded. `FORM` says which short way there is for an operator: that of `SUM`, `MAX`, `MIN`, or none, `ANY`. `OR`
and `AND` are the maximum and the minimum of bools: bytes of which all but 0 are true, and results of 0 and 1.
"""

from prism.lang import (
    bfloat16, block, byte_permute, const, constexpr, count, dp2a_lo, dp4a, dtype, float16, function, funnel_shift_left, group, id,
    int8, int32, load_vector, max_s16x2, max_u16x2, min_s16x2, min_u16x2, partition, prism, ptr, requires, shuffle, store_vector,
    template, thread, uint32, vector,
)
from prism.lib.thread.words import bits_of, element, row_of, slide, words_of

ANY, SUM, MAX, MIN, OR, AND = range(6)


# -- one element of a word ------------------------------------------------------------------------------------------------


@prism.device
@requires(thread[1])
@template(SIGNED=constexpr(bool), FORM=constexpr(int))
def extreme(a: uint32 @ thread[1], b: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """The larger, or smaller, of both 16-bit halves."""
    if SIGNED:
        return max_s16x2(a, b) if FORM == MAX else min_s16x2(a, b)
    else:
        return max_u16x2(a, b) if FORM == MAX else min_u16x2(a, b)


# -- bools: four bytes in a word ------------------------------------------------------------------------------------------


@prism.device
@requires(thread[1])
def false_bytes(word: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """The highest bit of the first byte that is 0, and perhaps of some behind it; 0 where there is none."""
    return (word - uint32(0x01010101)) & ~word & uint32(0x80808080)


@prism.device
@requires(thread[1])
def from_first(word: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """The lowest bit that is set, and all above it."""
    return word | (uint32(0) - word)


@prism.device
@requires(thread[1])
def truth_of(word: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """The highest bit of each byte, as 0 or 1. The permutation changes nothing: it keeps the bytes of the word together."""
    return byte_permute((word & uint32(0x80808080)) >> 7, 0, 0x3210)


# -- a row ----------------------------------------------------------------------------------------------------------------


@prism.device
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
    elif FORM == OR:
        return T(1) if (row[0] | row[1] | row[2] | row[3]) != 0 else T(0)
    elif FORM == AND:
        some: uint32 = false_bytes(row[0]) | false_bytes(row[1]) | false_bytes(row[2]) | false_bytes(row[3])
        return T(1) if some == 0 else T(0)
    else:
        total: T = element(row[0], 0, TI=TI, T=T, WIDTH=WIDTH)
        for k in range(1, WIDTH):
            total = OP(total, element(row[k * 4 // WIDTH], k % (WIDTH // 4), TI=TI, T=T, WIDTH=WIDTH))
        return total


@prism.device
@requires(thread[1])
@template(TI=dtype, T=dtype, OP=function, WIDTH=constexpr(int), FORM=constexpr(int), EXCLUSIVE=constexpr(bool))
def scan_row(row: uint32[4] @ thread[1], before: T @ thread[1]):
    """Replace each element by `OP(before, ...)` of those up to it; `EXCLUSIVE` leaves out itself.

    Cost: a sum of bytes, 7 instructions a word; of 16-bit integers, 3; the extreme of bytes, 10; of bools, 6 and 8.
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
    elif FORM == OR:
        any: uint32 = first  # 0 or 1
        for i in range(4):
            reached: uint32 = from_first(row[i] | any)
            row[i] = truth_of(reached)
            any = reached >> 31
    elif FORM == AND:
        none: uint32 = first ^ 1  # 1 where something before is false
        for i in range(4):
            stopped: uint32 = from_first(false_bytes(row[i]) | none)
            row[i] = truth_of(~stopped)
            none = stopped >> 31
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


@prism.device
@requires(block[1], thread[32])
@template(TI=dtype, HELD=constexpr(int), WIDTH=constexpr(int), PARTS=constexpr(int), REVERSE=constexpr(bool))
def load_rows(
    x: ptr(const(TI)) @ block[1], words: uint32[HELD] @ thread[1], valid: int32 @ block[1], otherwise: TI @ block[1],
    skew: int32 @ block[1], before: int32 @ block[1],
):
    """Spread the tile that starts at `x[0]` over the block's registers; what `x[before]` to `x[valid - 1]` aren't is `otherwise`.

    Perspective: block, of any number of warps.
    Shapes:      `HELD / 4` rows a thread, of `WIDTH` elements, 16 bytes, as many in each of the tile's `PARTS`; element `k` of
                 a part's row `j` is element `place() + j * 32 * WIDTH + k` of the part. With `REVERSE` the tile's last element
                 is taken for its first, and so on. `skew`, from 0 to `WIDTH - 1`: how many elements stand between an aligned one
                 and `x[0]`. `before` is less than `WIDTH`, and below 0 where there are elements before the tile: they are read,
                 but not taken, as are those behind it. `valid`, at least 1, says how many there are from `x[0]` on, also beyond
                 the tile.
    Cost:        an access a row; if `skew` is not 0, one more a part and 4 shuffles a row. Where elements are missing, `WIDTH`
                 more of one element, all under way at once. No barrier.
    Test:        tests/kernels/test_scan_packed.py
    """
    EACH: constexpr(int) = HELD // 4 // PARTS
    part: int32 @ block[1] = count(thread[1]) * EACH * WIDTH
    tile: int32 @ block[1] = part * PARTS
    at: int32 @ thread[1] = block.place(ITEMS=EACH * WIDTH, WIDTH=WIDTH)
    first: int32 @ thread[1] = tile - WIDTH - at if REVERSE else at
    if skew == 0 and before <= 0 and valid >= tile:
        load_aligned(x, words, first, part, WIDTH=WIDTH, PARTS=PARTS, REVERSE=REVERSE)
    else:
        more: uint32[4 * PARTS] @ thread[1]
        load_pieces(
            x, words, more, first, part, valid, otherwise, skew, before, WIDTH=WIDTH, PARTS=PARTS, REVERSE=REVERSE,
        )
        if skew > 0:
            put_together(words, more, skew, WIDTH=WIDTH, PARTS=PARTS, REVERSE=REVERSE)
        if REVERSE:
            with group(thread[1]):
                for j in range(HELD // 4):
                    row: uint32[4]
                    for i in range(4):
                        row[i] = words[4 * j + i]
                    words_of(row_of(row, TI=TI, WIDTH=WIDTH, REVERSE=True), row)
                    for i in range(4):
                        words[4 * j + i] = row[i]


@prism.device
@requires(block[1], thread[32])
@template(TI=dtype, HELD=constexpr(int), WIDTH=constexpr(int), PARTS=constexpr(int), REVERSE=constexpr(bool))
def load_aligned(
    x: ptr(const(TI)) @ block[1], words: uint32[HELD] @ thread[1], first: int32 @ thread[1], part: int32 @ block[1],
):
    """What `load_rows` loads of a tile that is whole and aligned; `first`: the thread's first element, of `part` a part."""
    ROWS: constexpr(int) = HELD // 4
    EACH: constexpr(int) = ROWS // PARTS
    with partition(x, thread[1], offset=first) as mine:
        with group(thread[1]):
            for j in range(ROWS):
                ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH
                with partition(mine, thread[1], offset=-ahead if REVERSE else ahead) as source:
                    raw: uint32[4]
                    words_of(load_vector(source[0], WIDTH), raw, REVERSE=REVERSE)
                    for i in range(4):
                        words[4 * j + i] = raw[i]


@prism.device
@requires(block[1], thread[32])
@template(TI=dtype, HELD=constexpr(int), MORE=constexpr(int), WIDTH=constexpr(int), PARTS=constexpr(int), REVERSE=constexpr(bool))
def load_pieces(
    x: ptr(const(TI)) @ block[1], words: uint32[HELD] @ thread[1], more: uint32[MORE] @ thread[1], first: int32 @ thread[1],
    part: int32 @ block[1], valid: int32 @ block[1], otherwise: TI @ block[1], skew: int32 @ block[1], before: int32 @ block[1],
):
    """Load the aligned vectors in which the thread's rows begin, what is not there as `otherwise`; `first` as in `load_aligned`.

    A vector that is there in part is read element by element, by all threads alike, while the others are under way: there are
    at most two, where the array begins and where it ends. `more`: for each part the vector that only `put_together` needs.
    """
    ROWS: constexpr(int) = HELD // 4
    EACH: constexpr(int) = ROWS // PARTS
    LOWEST: constexpr(int) = ROWS - 1 if REVERSE else 0  # the row in which the array may begin
    lowest: int32 @ block[1] = (before + skew + (WIDTH - 1)) // WIDTH * WIDTH - skew  # the first vector that is all there
    highest: int32 @ block[1] = (valid + skew) // WIDTH * WIDTH - WIDTH - skew  # the last one
    low: uint32[4] @ thread[1]
    high: uint32[4] @ thread[1]
    lane: int32 @ thread[1] = id() % 32
    beyond: int32 @ thread[1] = EACH * 32 * WIDTH if lane == 0 else 0  # where `more` is: only one lane's is asked for
    if REVERSE:
        beyond = 32 * WIDTH if lane == 31 else 0
    with partition(x, thread[1], offset=first) as mine:
        with group(thread[1]):
            if lowest <= highest:
                for j in range(ROWS + PARTS):
                    ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH if j < ROWS else (j - ROWS) * part
                    here: int32 = (first - ahead if REVERSE else first + ahead) + (0 if j < ROWS else beyond) - skew
                    with partition(mine, thread[1], offset=min(max(here, lowest), highest) - first) as source:
                        raw: uint32[4]
                        words_of(load_vector(source[0], WIDTH), raw)
                        for i in range(4):
                            if j < ROWS:
                                words[(4 * j + i) % HELD] = raw[i]
                            else:
                                more[(4 * (j - ROWS) + i) % MORE] = raw[i]
            if before > -skew:
                load_part(mine, low, lowest - WIDTH, first, valid, otherwise, before, WIDTH=WIDTH)
            if highest < part * PARTS - WIDTH:
                load_part(mine, high, highest + WIDTH, first, valid, otherwise, before, WIDTH=WIDTH)
                none: uint32 = bits_of(otherwise, WIDTH=WIDTH) * (0x01010101 if WIDTH == 16 else 0x00010001)
                for j in range(ROWS + PARTS):
                    ahead: int32 = j // EACH * part + j % EACH * 32 * WIDTH if j < ROWS else (j - ROWS) * part
                    here: int32 = (first - ahead if REVERSE else first + ahead) + (0 if j < ROWS else beyond) - skew
                    for i in range(4):
                        end: uint32 = high[i] if here == highest + WIDTH else none
                        if here > highest and j < ROWS:
                            words[(4 * j + i) % HELD] = end
                        elif here > highest:
                            more[(4 * (j - ROWS) + i) % MORE] = end
            if before > -skew:
                none: uint32 = bits_of(otherwise, WIDTH=WIDTH) * (0x01010101 if WIDTH == 16 else 0x00010001)
                least: int32 = (first - (PARTS - 1) * part - (EACH - 1) * 32 * WIDTH if REVERSE else first) - skew
                for i in range(4):
                    if least < lowest:
                        words[4 * LOWEST + i] = low[i] if least == lowest - WIDTH else none


@prism.device
@requires(thread[1])
@template(TI=dtype, WIDTH=constexpr(int))
def load_part(
    x: ptr(const(TI)) @ thread[1], words: uint32[4] @ thread[1], here: int32 @ thread[1], first: int32 @ thread[1],
    valid: int32 @ thread[1], otherwise: TI @ thread[1], before: int32 @ thread[1],
):
    """Read the vector that begins at element `here` one by one, where `x[0]` is element `first`."""
    row: vector(TI, WIDTH)
    with partition(x, thread[1], offset=here - first) as source:
        for k in range(WIDTH):
            row[k] = source[k] if before - here <= k < valid - here else otherwise
    words_of(row, words)


@prism.device
@requires(block[1], thread[32])
@template(HELD=constexpr(int), MORE=constexpr(int), WIDTH=constexpr(int), PARTS=constexpr(int), REVERSE=constexpr(bool))
def put_together(words: uint32[HELD] @ thread[1], more: uint32[MORE] @ thread[1], skew: int32 @ block[1]):
    """Make rows of aligned vectors: each of a row's first one and the next, which the neighbouring lane has.

    The last lane's neighbour is lane 0, with its next row, or with what it has `more`. With `REVERSE` rows go downwards, so the
    neighbour is the lane before, and that of lane 0 is the last lane with its row before.
    """
    ROWS: constexpr(int) = HELD // 4
    EACH: constexpr(int) = ROWS // PARTS
    lane: int32 @ thread[1] = id() % 32
    for step in range(ROWS):
        j: int32 = ROWS - 1 - step if REVERSE else step
        both: uint32[8] @ thread[1]
        for i in range(4):
            both[i] = words[4 * j + i]
            after: uint32 @ thread[1] = words[(4 * (j - 1 if REVERSE else j + 1) + i + HELD) % HELD]
            if j % EACH == (0 if REVERSE else EACH - 1):
                after = more[4 * (j // EACH) + i]
            after = after if lane == (31 if REVERSE else 0) else words[4 * j + i]
            both[4 + i] = shuffle(after, lane + (31 if REVERSE else 1))
        row: uint32[4] @ thread[1]
        slide(both, skew * (16 // WIDTH), row)
        with group(thread[1]):
            for i in range(4):
                words[4 * j + i] = row[i]


@prism.device
@requires(block[1], thread[32])
@template(
    TI=dtype, T=dtype, HELD=constexpr(int), EACH=constexpr(int), OP=function, WIDTH=constexpr(int), FORM=constexpr(int),
    THREADS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
def store_scan(
    y: ptr(TI) @ block[1], words: uint32[HELD] @ thread[1], bases: T[EACH] @ thread[1], prefix: T @ block[1],
    lower: T @ block[1], valid: int32 @ block[1], before: int32 @ block[1],
):
    """Store the scan of the tile in `words` at `y[0]`, aligned to 16 bytes: row `j` behind `OP(prefix, bases[j])`.

    `y[before]` to `y[valid - 1]` are written, and only they.

    Fewer bases than rows are those of bytes' sums in two parts: row `j` of the second is behind `prefix`, `lower`, and the
    highest byte of `bases[j]`.

    Perspective: block, of `THREADS` threads.
    Shapes, Test: as `load_rows`.
    Cost:        an access a row; of the rows, at most two, that are there in part, one an element. No barrier.
    """
    ROWS: constexpr(int) = HELD // 4
    PARTS: constexpr(int) = ROWS // EACH
    PART: constexpr(int) = THREADS * EACH * WIDTH
    TILE: constexpr(int) = PART * PARTS
    whole: bool @ block[1] = before <= 0 and valid >= TILE
    LOWEST: constexpr(int) = ROWS - 1 if REVERSE else 0  # the row in which the array may begin
    at: int32 @ thread[1] = block.place(ITEMS=EACH * WIDTH, WIDTH=WIDTH)
    first: int32 @ thread[1] = TILE - WIDTH - at if REVERSE else at
    with partition(y, thread[1], offset=first, races="none") as mine:  # rows of one thread lie among those of the others
        if whole:
            with group(thread[1]):
                for j in range(ROWS):
                    ahead: int32 = j // EACH * PART + j % EACH * 32 * WIDTH
                    with partition(mine, thread[1], offset=-ahead if REVERSE else ahead) as target:
                        row: uint32[4]
                        for i in range(4):
                            row[i] = words[4 * j + i]
                        scan_behind(row, bases, prefix, lower, j, TI=TI, OP=OP, WIDTH=WIDTH, FORM=FORM, EXCLUSIVE=EXCLUSIVE)
                        store_vector(target[0], row_of(row, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE), cache="no_allocate")
        else:
            with group(thread[1]):
                last: uint32[4]  # the row in which the array ends, if it is this thread's
                where: int32 = TILE  # nowhere
                for j in range(ROWS):
                    ahead: int32 = j // EACH * PART + j % EACH * 32 * WIDTH
                    here: int32 = first - ahead if REVERSE else first + ahead
                    row: uint32[4]
                    for i in range(4):
                        row[i] = words[4 * j + i]
                    scan_behind(row, bases, prefix, lower, j, TI=TI, OP=OP, WIDTH=WIDTH, FORM=FORM, EXCLUSIVE=EXCLUSIVE)
                    if before <= here and here + WIDTH <= valid:
                        with partition(mine, thread[1], offset=-ahead if REVERSE else ahead) as target:
                            store_vector(target[0], row_of(row, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE), cache="no_allocate")
                    elif j == LOWEST:
                        with partition(mine, thread[1], offset=-ahead if REVERSE else ahead) as target:
                            store_part(
                                target, row_of(row, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE), before - here, valid - here, TO=TI,
                            )
                    elif here < valid:
                        where = here
                        for i in range(4):
                            last[i] = row[i]
                there: int32 = where
                if 0 <= there <= TILE - WIDTH:
                    with partition(mine, thread[1], offset=there - first) as target:
                        store_part(target, row_of(last, TI=TI, WIDTH=WIDTH, REVERSE=REVERSE), 0, valid - there, TO=TI)


@prism.device
@requires(thread[1])
@template(TO=dtype, WIDTH=constexpr(int))
def store_part(y: ptr(TO) @ thread[1], row: vector(TO, WIDTH) @ thread[1], begin: int32 @ thread[1], end: int32 @ thread[1]):
    """Store those of a row's elements from `begin` on and before `end` at `y[0]` and behind it."""
    for k in range(WIDTH):
        if begin <= k < end:
            y[k] = row[k]


@prism.device
@requires(thread[1])
@template(
    TI=dtype, T=dtype, EACH=constexpr(int), OP=function, WIDTH=constexpr(int), FORM=constexpr(int), EXCLUSIVE=constexpr(bool),
)
def scan_behind(
    row: uint32[4] @ thread[1], bases: T[EACH] @ thread[1], prefix: T @ thread[1], lower: T @ thread[1], j: int32 @ thread[1],
):
    """Replace row `j` of a tile by its scan, as `store_scan` stores it."""
    before: T = OP(prefix, bases[j % EACH])
    if j >= EACH:
        before = prefix + lower + T(uint32(bases[j % EACH]) >> 24)
    scan_row(row, before, TI=TI, OP=OP, WIDTH=WIDTH, FORM=FORM, EXCLUSIVE=EXCLUSIVE)
