"""In what order numbers stand once they are sorted: that of unsigned integers of the same size, their keys."""

from prism.lang import (
    constexpr, dtype, int32, prism, requires, template, thread, wrapping_add, wrapping_subtract,
)

INTEGER, FLOAT, FLOAT_PAIR, FLOAT_PLACE, FIELD = 0, 1, 2, 3, 4
"""Kinds of numbers. NaNs stand behind all others. Floats alone: -0.0 is equal to 0.0. With values, FLOAT_PAIR: NaNs are equal
too, and all bits are kept. With positions, FLOAT_PLACE: the same, and the numbers themselves are not asked for again. With
values, FIELD: unsigned integers that are equal where some of their bits are."""


@prism.device
@requires(thread[1])
@template(K=dtype, KIND=constexpr(int))
def encode(bits: K @ thread[1], flip: K @ thread[1], lowest: K @ thread[1]) -> K @ thread[1]:
    """The key of a number of these bits.

    `flip`: of integers the bits that are exchanged, the sign's and, for a falling order, all others; of floats 0, or all bits.
    `lowest`: of floats the key that -inf, or in a falling order inf, would have; it has 0, and NaNs are above all numbers. Of a
    FIELD its bits.
    """
    if KIND == INTEGER or KIND == FIELD:
        return bits ^ flip
    SIGN: constexpr(int) = 1 << 8 * K.bytes - 1
    rising: K = bits ^ (~K(0) if bits >= K(SIGN) else K(SIGN))
    key: K = wrapping_subtract(rising ^ flip, lowest)
    return one_of_equals(key, lowest) if KIND == FLOAT_PLACE else key


@prism.device
@requires(thread[1])
@template(K=dtype, KIND=constexpr(int))
def decode(key: K @ thread[1], flip: K @ thread[1], lowest: K @ thread[1]) -> K @ thread[1]:
    """The bits that `encode` was given."""
    if KIND == INTEGER or KIND == FIELD:
        return key ^ flip
    SIGN: constexpr(int) = 1 << 8 * K.bytes - 1
    rising: K = wrapping_add(key, lowest) ^ flip
    return rising ^ (K(SIGN) if rising >= K(SIGN) else ~K(0))


@prism.device
@requires(thread[1])
@template(K=dtype)
def one_of_equals(key: K @ thread[1], lowest: K @ thread[1]) -> K @ thread[1]:
    """The same key for both zeros, and for all NaNs."""
    zero: K = lower_zero(lowest)
    numbers: K = wrapping_add(zero, zero) + K(1)  # the key of the last number: as many are below zero as above
    whole: K = zero + K(1) if key == zero else key
    return ~K(0) if key > numbers else whole


@prism.device
@requires(thread[1])
@template(K=dtype)
def lower_zero(lowest: K @ thread[1]) -> K @ thread[1]:
    """The key of one zero: the other one's is the next."""
    HIGHEST: constexpr(int) = (1 << 8 * K.bytes - 1) - 1
    return wrapping_subtract(K(HIGHEST), lowest)


@prism.device
@requires(thread[1])
@template(K=dtype)
def minus_zero(flip: K @ thread[1], lowest: K @ thread[1]) -> K @ thread[1]:
    """The key of -0.0."""
    return lower_zero(lowest) + K(0 if flip == 0 else 1)


@prism.device
@requires(thread[1])
@template(K=dtype, KIND=constexpr(int), AGAIN=constexpr(bool, default=False), BITS=constexpr(int, default=8))
def digit(key: K @ thread[1], shift: int32 @ thread[1], lowest: K @ thread[1]) -> int32 @ thread[1]:
    """`BITS` bits of a key, from bit `shift` on, equal for what is equal.

    `AGAIN`: it is computed another way, so that the compiler does not keep what it has computed before in registers.
    """
    whole: K = key
    if KIND == FLOAT:
        zero: K = lower_zero(lowest)
        if AGAIN:
            whole = key + K(1 if key == zero else 0)
        else:
            whole = zero + K(1) if key == zero else key
    elif KIND == FLOAT_PAIR:
        whole = one_of_equals(key, lowest)
    elif KIND == FIELD:
        whole = key & lowest
    if AGAIN:
        return int32(K(whole << (8 * K.bytes - BITS - shift)) >> (8 * K.bytes - BITS))
    return int32(whole >> shift) & (1 << BITS) - 1
