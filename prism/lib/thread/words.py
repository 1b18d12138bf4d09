"""16 bytes of small elements in four words of a thread's registers, lowest first, and as they are read from memory."""

from prism.lang import (
    bitcast, const, constexpr, dtype, funnel_shift_left, int32, load_vector, prism, ptr, requires, template, thread, uint8,
    uint16, uint32, vector,
)


@prism.device
@requires(thread[1])
@template(TI=dtype, WIDTH=constexpr(int))
def bits_of(element: TI @ thread[1]) -> uint32 @ thread[1]:
    """An element's bits, in the lowest of a word."""
    if TI == bool:  # noqa: E721 -- of kernels
        return uint32(1) if element else uint32(0)
    elif WIDTH == 16:
        return uint32(bitcast(element, uint8))
    else:
        return uint32(bitcast(element, uint16))


@prism.device
@requires(thread[1])
@template(TI=dtype, T=dtype, WIDTH=constexpr(int))
def element(word: uint32 @ thread[1], k: int32 @ thread[1]) -> T @ thread[1]:
    """Element `k` of a word, as a number."""
    if TI == bool:  # noqa: E721 -- of kernels
        return T(uint8(word >> (8 * k)) != 0)
    elif WIDTH == 16:
        return T(bitcast(uint8(word >> (8 * k)), TI))
    else:
        return T(bitcast(uint16(word >> (16 * k)), TI))


@prism.device
@requires(thread[1])
@template(TI=dtype, WIDTH=constexpr(int), REVERSE=constexpr(bool, default=False))
def words_of(row: vector(TI, WIDTH) @ thread[1], words: uint32[4] @ thread[1]):
    """A row's elements in words, lowest first; the last of them first where `REVERSE`."""
    PER: constexpr(int) = WIDTH // 4
    for i in range(4):
        words[i] = 0
        for k in range(PER):
            e: TI = row[WIDTH - 1 - PER * i - k if REVERSE else PER * i + k]
            words[i] = words[i] | bits_of(e, WIDTH=WIDTH) << (128 // WIDTH * k)


@prism.device
@requires(thread[1])
@template(TI=dtype, WIDTH=constexpr(int), REVERSE=constexpr(bool))
def row_of(words: uint32[4] @ thread[1]) -> vector(TI, WIDTH) @ thread[1]:
    """The row whose elements are in words: what `words_of` takes."""
    PER: constexpr(int) = WIDTH // 4
    row: vector(TI, WIDTH)
    for k in range(WIDTH):
        m: int32 = WIDTH - 1 - k if REVERSE else k
        if TI == bool:  # noqa: E721 -- of kernels
            row[m] = uint8(words[k // PER] >> (8 * (k % PER))) != 0
        elif WIDTH == 16:
            row[m] = bitcast(uint8(words[k // PER] >> (8 * (k % PER))), TI)
        else:
            row[m] = bitcast(uint16(words[k // PER] >> (16 * (k % PER))), TI)
    return row


@prism.device
@requires(thread[1])
@template(TI=dtype, MANY=constexpr(int))
def drop(row: TI[MANY] @ thread[1], few: int32 @ thread[1]):
    """Move elements `few` places down, at most 3. As many at the end are then of no use."""
    for k in range(MANY - 2):
        row[k] = row[k + 2] if (few & 2) != 0 else row[k]
    for k in range(MANY - 3):
        row[k] = row[k + 1] if (few & 1) != 0 else row[k]


@prism.device
@requires(thread[1])
def slide(words: uint32[8] @ thread[1], few: int32 @ thread[1], row: uint32[4] @ thread[1]):
    """Put the 16 bytes into `row` that begin `few` bytes, from 1 to 16, behind the first of `words`."""
    drop(words, (few - 1) >> 2)
    for i in range(4):
        row[i] = funnel_shift_left(words[i], words[i + 1], 24 - ((few - 1) & 3) * 8)


@prism.device
@requires(thread[1])
@template(TI=dtype, WIDTH=constexpr(int))
def load_row(x: ptr(const(TI)) @ thread[1], words: uint32[4] @ thread[1], skew: int32 @ thread[1]):
    """Read the row of `WIDTH` elements, 16 bytes, that begins at `x[0]`, `skew` elements past an aligned one.

    Errors: the aligned vectors that hold it, one or two, must be there: see `first_row`.
    """
    few: int32 = skew if skew > 0 else WIDTH
    both: uint32[8]
    raw: uint32[4]
    words_of(load_vector(x[-skew], WIDTH), raw)
    for i in range(4):
        both[i] = raw[i]
    words_of(load_vector(x[WIDTH - few], WIDTH), raw)
    for i in range(4):
        both[4 + i] = raw[i]
    slide(both, few * (16 // WIDTH), words)


@prism.device
@requires(thread[1])
@template(WIDTH=constexpr(int))
def first_row(before: int32 @ thread[1], skew: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where the first row of a tile begins whose aligned vectors hold elements from `before` on only; rows are of `WIDTH`."""
    return (before + skew + (WIDTH - 1)) // WIDTH * WIDTH


@prism.device
@requires(thread[1])
@template(WIDTH=constexpr(int))
def last_row(valid: int32 @ thread[1], skew: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where the last one begins whose vectors hold elements before `valid` only; less than `first_row` where there is none."""
    return (valid + (skew if skew > 0 else WIDTH)) // WIDTH * WIDTH - 2 * WIDTH
