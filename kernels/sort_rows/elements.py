"""What is sorted: unsigned integers in whose order elements stand, alone or with a position that keeps equal ones apart.

An element without a position is its key, which gives it back, bit for bit: NaN stands above all, and -0.0 just before 0.0. With
a position -0.0 is 0.0, and NaN is one key; the element comes from where it lies.
"""

from prism.lang import (
    bfloat16, bitcast, complex64, constexpr, dtype, float16, float32, float64, int8, int16, int32, int64, prism, requires, struct,
    template, thread, uint8, uint16, uint32, uint64,
)

ALONE, PLACED = range(2)
"""Whether keys are sorted alone, or with positions."""


@struct
class Wide:
    """A key of 8 bytes, and the position that keeps equal ones in their order."""

    key: uint64
    place: uint32


@struct
class Huge:
    """A key of 16 bytes, and the position that keeps equal ones in their order."""

    high: uint64
    low: uint64
    place: uint32


@prism.device
@requires(thread[1])
@template(E=dtype)
def before(a: E @ thread[1], b: E @ thread[1]) -> bool @ thread[1]:
    """Whether an element stands before another."""
    if E == uint32 or E == uint64:
        return a < b
    elif E == Huge:
        return a.high < b.high or (a.high == b.high and (a.low < b.low or (a.low == b.low and a.place < b.place)))
    else:
        return a.key < b.key or (a.key == b.key and a.place < b.place)


@prism.device
@requires(thread[1])
@template(T=dtype, U=dtype)
def bits_of(x: T @ thread[1]) -> U @ thread[1]:
    """The bits of an element, in `U`, which may be wider."""
    if T == float16 or T == bfloat16 or T == int16:
        return U(bitcast(x, uint16))
    elif T == int8:
        return U(bitcast(x, uint8))
    elif T == int32 or T == float32:
        return U(bitcast(x, uint32))
    elif T == int64 or T == float64 or T == complex64:
        return U(bitcast(x, uint64))
    else:
        return U(x)


@prism.device
@requires(thread[1])
@template(T=dtype, U=dtype)
def nans_of() -> U @ thread[1]:
    """How many NaN there are of one sign; 0 of integers."""
    if T == float16:
        return U(0x3FF)
    elif T == bfloat16:
        return U(0x7F)
    elif T == float32:
        return U(0x7FFFFF)
    elif T == float64:
        return U(0xFFFFFFFFFFFFF)
    else:
        return U(0)


@prism.device
@requires(thread[1])
@template(T=dtype, E=dtype, DESCENDING=constexpr(bool))
def least_zero() -> E @ thread[1]:
    """The key of the zero that stands first where keys are not `TIED`; that of the other one is the next."""
    return E(key_of(T(0), U=E, DESCENDING=DESCENDING, TIED=False)) - (0 if DESCENDING else 1)


@prism.device
@requires(thread[1])
@template(U=dtype, SIZE=constexpr(int))
def sign_of(bits: U @ thread[1]) -> U @ thread[1]:
    """The sign of a number of `SIZE` bytes, in all of them: by a shift that keeps it, where there is one."""
    if SIZE == 8:
        return U(bitcast(bitcast(uint64(bits), int64) >> 63, uint64))
    elif SIZE == 4:
        return U(bitcast(bitcast(uint32(bits), int32) >> 31, uint32))
    else:
        return U((bits >> 15 & 1) * 0xFFFF)


@prism.device
@requires(thread[1])
@template(T=dtype, U=dtype, DESCENDING=constexpr(bool), TIED=constexpr(bool))
def key_of_real(x: T @ thread[1]) -> U @ thread[1]:
    """The key of a number that is not complex."""
    SIGN: constexpr(int) = 1 << 8 * T.bytes - 1
    FLOAT: constexpr(bool) = T == float16 or T == bfloat16 or T == float32 or T == float64
    SIGNED: constexpr(bool) = FLOAT or T == int8 or T == int16 or T == int32 or T == int64
    bits: U = bits_of(x, U=U)
    most: U = U(SIGN) - 1 + U(SIGN)
    if FLOAT and TIED:
        size: U = bits & (U(SIGN) - 1)
        if size == 0:
            bits = 0
        if size > U(SIGN) - 1 - nans_of(T=T, U=U):
            bits = U(SIGN) - nans_of(T=T, U=U)  # the first NaN
    if FLOAT:
        bits = bits ^ (sign_of(bits, SIZE=T.bytes) | U(SIGN))
    elif SIGNED:
        bits = bits ^ U(SIGN)
    if DESCENDING:
        bits = bits ^ most
    # what NaN of the other sign have is taken off: they wrap, and stand above those of this one
    return (bits - nans_of(T=T, U=U)) & most if FLOAT else bits


@prism.device
@requires(thread[1])
@template(T=dtype, U=dtype, DESCENDING=constexpr(bool), TIED=constexpr(bool))
def key_of(x: T @ thread[1]) -> U @ thread[1]:
    """The key of an element; `TIED`: one of all NaN, and one of both zeros. Complex numbers are `TIED`, in NumPy's order."""
    if T == complex64:
        real: uint32 = key_of_real(x.real, U=uint32, DESCENDING=DESCENDING, TIED=True)
        imag: uint32 = key_of_real(x.imag, U=uint32, DESCENDING=DESCENDING, TIED=True)
        high: uint32 = real  # below 0xFF000002, the key of NaN
        low: uint32 = imag
        if x.imag != x.imag:
            high = 0xFF000003 if x.real == x.real else 0xFF000005
            low = real
        elif x.real != x.real:
            high = 0xFF000004
        return uint64(high) << 32 | uint64(low)
    else:
        return key_of_real(x, U=U, DESCENDING=DESCENDING, TIED=TIED)


@prism.device
@requires(thread[1])
@template(T=dtype, U=dtype, DESCENDING=constexpr(bool))
def element_of(key: U @ thread[1]) -> T @ thread[1]:
    """The element of a key that is not `TIED`."""
    SIGN: constexpr(int) = 1 << 8 * T.bytes - 1
    FLOAT: constexpr(bool) = T == float16 or T == bfloat16 or T == float32 or T == float64
    most: U = U(SIGN) - 1 + U(SIGN)
    bits: U = (key + nans_of(T=T, U=U)) & most if FLOAT else key
    if DESCENDING:
        bits = bits ^ most
    if FLOAT:
        bits = bits ^ (sign_of(~bits, SIZE=T.bytes) | U(SIGN))
        if T == float16:
            return bitcast(uint16(bits), float16)
        elif T == bfloat16:
            return bitcast(uint16(bits), bfloat16)
        elif T == float32:
            return bitcast(uint32(bits), float32)
        else:
            return bitcast(uint64(bits), float64)
    elif T == int8:
        return bitcast(uint8(bits ^ U(SIGN)), int8)
    elif T == int16:
        return bitcast(uint16(bits ^ U(SIGN)), int16)
    elif T == int32:
        return bitcast(uint32(bits ^ U(SIGN)), int32)
    elif T == int64:
        return bitcast(uint64(bits ^ U(SIGN)), int64)
    else:
        return T(bits)


@prism.device
@requires(thread[1])
@template(T=dtype, U=dtype, E=dtype, DESCENDING=constexpr(bool), FORM=constexpr(int))
def pack(x: T @ thread[1], place: int32 @ thread[1]) -> E @ thread[1]:
    """What is sorted, of an element at a position of its row."""
    if FORM == ALONE:
        return E(key_of(x, U=U, DESCENDING=DESCENDING, TIED=False))
    elif E == Huge:
        real: uint64 = key_of_real(x.real, U=uint64, DESCENDING=DESCENDING, TIED=True)
        imag: uint64 = key_of_real(x.imag, U=uint64, DESCENDING=DESCENDING, TIED=True)
        high: uint64 = real  # below 0xFFE0000000000002, the key of NaN
        low: uint64 = imag
        if x.imag != x.imag:
            high = 0xFFE0000000000003 if x.real == x.real else 0xFFE0000000000005
            low = real
        elif x.real != x.real:
            high = 0xFFE0000000000004
        return Huge(high, low, uint32(place))
    elif E == Wide:
        return Wide(uint64(key_of(x, U=U, DESCENDING=DESCENDING, TIED=True)), uint32(place))
    elif E == uint64:
        return uint64(key_of(x, U=U, DESCENDING=DESCENDING, TIED=True)) << 32 | uint64(place)
    else:
        return uint32(key_of(x, U=U, DESCENDING=DESCENDING, TIED=True)) << 16 | uint32(place)


@prism.device
@requires(thread[1])
@template(E=dtype)
def behind_all() -> E @ thread[1]:
    """What sorts behind every element, or is the same as the last one."""
    if E == Huge:
        return Huge(0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF)
    elif E == Wide:
        return Wide(0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF)
    elif E == uint64:
        return uint64(0xFFFFFFFFFFFFFFFF)
    else:
        return uint32(0xFFFFFFFF)


@prism.device
@requires(thread[1])
@template(E=dtype)
def place_of(e: E @ thread[1]) -> int32 @ thread[1]:
    """The position in its row that an element has with it."""
    if E == Wide or E == Huge:
        return int32(e.place)
    elif E == uint64:
        return int32(uint32(e))
    else:
        return int32(e & 0xFFFF)
