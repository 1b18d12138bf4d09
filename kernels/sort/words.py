"""Words of few elements: a key, and, where there is room for it, where it stood; and which bucket of a part a word belongs to."""

from prism.lang import (
    bitcast, const, constexpr, dtype, float32, fma, grid, int32, prism, ptr, requires, template, thread, uint32, wrapping_add,
)
from prism.kernels.sort.order import FLOAT, FLOAT_PLACE, INTEGER, decode, encode, lower_zero, minus_zero
from prism.kernels.sort.parts import GIVEN, POSITIONS

_WHOLE, _BITS_OF_WHOLE = 1 << 23, 0x4B000000
"""From this float32 on all are whole numbers, and its bits."""


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype, KIND=constexpr(int))
def word_of(bits: K @ thread[1], place: int32 @ thread[1], flip: K @ thread[1], lowest: K @ thread[1]) -> W @ thread[1]:
    """The word that is sorted: a key, and where it stands, where a word has room for both. Keys of equal floats are equal then.

    A word without a place tells all bits of a float, in the order of numbers: but see `is_special`.
    """
    OF: constexpr(int) = INTEGER if KIND == INTEGER else FLOAT_PLACE if W.bytes > K.bytes else FLOAT
    key: K = encode(bits, flip, lowest, KIND=OF)
    return W(key) << 32 | W(place) if W.bytes > K.bytes else W(key)


@prism.device
@requires(thread[1])
@template(K=dtype)
def is_special(key: K @ thread[1], flip: K @ thread[1], lowest: K @ thread[1]) -> bool @ thread[1]:
    """Whether a float may be equal to one of other bits: -0.0, or NaN. Then places tell their order, and not bits."""
    zero: K = lower_zero(lowest)
    return key == minus_zero(flip, lowest) or key > zero + zero + K(1)


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype)
def value_of(word: W @ thread[1], lowest: K @ thread[1]) -> float32 @ thread[1]:
    """The float32 whose word this is; in a falling order, which exchanges all bits, its negative."""
    SIGN: constexpr(int) = 1 << 31
    rising: uint32 = wrapping_add(uint32(word >> 8 * (W.bytes - 4)), uint32(lowest))
    return bitcast(rising ^ (uint32(SIGN) if rising >= uint32(SIGN) else ~uint32(0)), float32)


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype, BUCKETS=constexpr(int), KIND=constexpr(int))
def bucket_between(
    word: W @ thread[1], low: W @ thread[1], shift: int32 @ thread[1], scale: float32 @ thread[1], lowest: K @ thread[1]
) -> int32 @ thread[1]:
    """Which bucket a word belongs to of those between `low` and the highest one, which are even parts of whole numbers.

    Those of floats are even parts of what is between them as floats, `scale` of them in 1; where that is 0, of words. Of bits
    alone they would be crowded: as many floats are below a small one as above it.
    """
    MOST: constexpr(int) = (1 << BUCKETS) - 1
    bucket: int32 = int32(word - low >> shift)
    if KIND != INTEGER:
        # A float that is added to 2^23 is rounded to a whole number, its lowest bits. A conversion takes four times as long.
        whole: float32 = fma(value_of(word, lowest) - value_of(low, lowest), scale, float32(_WHOLE))
        bucket = bitcast(whole, int32) - _BITS_OF_WHOLE if scale > 0 else bucket
    return max(min(bucket, MOST), 0)


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype, BUCKETS=constexpr(int))
def scale_of(low: W @ thread[1], high: W @ thread[1], lowest: K @ thread[1]) -> float32 @ thread[1]:
    """How many buckets the floats between two words have in 1; 0 where that is no number, or too many."""
    span: float32 = value_of(high, lowest) - value_of(low, lowest)
    return (1 << BUCKETS) / span if span > 1e-30 and span < 1e38 else 0.0


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype, V=dtype, VO=dtype, VALUES=constexpr(int), KIND=constexpr(int))
def write_word(
    x: ptr(const(K)) @ grid[1], given: ptr(const(V)) @ grid[1], y: ptr(K) @ thread[1], values: ptr(V) @ thread[1],
    positions: ptr(VO) @ thread[1], word: W @ thread[1], spot: int32 @ thread[1], flip: K @ thread[1], lowest: K @ thread[1],
):
    """Write what belongs to a word, where `spot` is not negative. Zeros and NaNs, whose words don't tell all, are read again."""
    if spot >= 0:
        if W.bytes == K.bytes:
            y[spot] = decode(K(word), flip, lowest, KIND=INTEGER if KIND == INTEGER else FLOAT)
        else:
            from_: int32 = int32(word & W(0x7FFFFFFF))
            if VALUES == POSITIONS:
                positions[spot] = VO(from_)
            else:
                key: K = K(word >> 32)
                if KIND == INTEGER:
                    y[spot] = key ^ flip
                else:
                    several: bool = key == ~K(0) or key == lower_zero(lowest) + K(1)
                    y[spot] = x[from_] if several else decode(key, flip, lowest, KIND=FLOAT)
            if VALUES == GIVEN:
                values[spot] = given[from_]
