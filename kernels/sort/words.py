"""Words of few elements: a key, and where it stood; of a float its bucket too, so that buckets are even parts of numbers."""

from prism.lang import (
    bitcast, block, const, constexpr, dtype, float32, grid, group, int32, partition, prism, ptr, requires, template, thread,
)
from prism.kernels.sort.order import FLOAT, FLOAT_PLACE, INTEGER, decode, encode, lower_zero
from prism.kernels.sort.parts import GIVEN, POSITIONS

BUCKET = 48
"""The lowest bit of a bucket in the word of a float: see `in_bucket`."""


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype, KIND=constexpr(int))
def word_of(bits: K @ thread[1], place: int32 @ thread[1], flip: K @ thread[1], lowest: K @ thread[1]) -> W @ thread[1]:
    """The word that is sorted: a key, and where it stands, where a word has room for both. Of equal floats keys are the same."""
    key: K = encode(bits, flip, lowest, KIND=INTEGER if KIND == INTEGER else FLOAT_PLACE)
    return W(key) << 32 | W(place) if W.bytes > K.bytes else W(key)


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype)
def value_of(word: W @ thread[1], flip: K @ thread[1], lowest: K @ thread[1]) -> float32 @ thread[1]:
    """The float32 whose word this is; in a falling order, which exchanges all bits, its negative."""
    found: float32 = bitcast(decode(K(word >> 32), flip, lowest, KIND=FLOAT), float32)
    return found if flip == 0 else -found


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype, BUCKETS=constexpr(int))
def in_bucket(
    word: W @ thread[1], low: W @ thread[1], shift: int32 @ thread[1], scale: float32 @ thread[1], flip: K @ thread[1],
    lowest: K @ thread[1],
) -> W @ thread[1]:
    """A float's word with its bucket before it, and its place in 16 bits: in the same order, and `plain` makes it what it was.

    Buckets are even parts of what is between `low` and the highest word, as floats, `scale` of them in 1; where that is 0, as
    words. Of bits alone they would be crowded: as many floats are below a small one as above it.
    """
    bucket: int32 = 0
    if scale > 0:
        part: float32 = (value_of(word, flip, lowest) - value_of(low, flip, lowest)) * scale
        bucket = min(int32(part), (1 << BUCKETS) - 1)
    else:
        bucket = int32(word - low >> shift)
    return W(bucket) << BUCKET | word >> 32 << 16 | word & W(0xFFFF)


@prism.device
@requires(thread[1])
@template(W=dtype)
def plain(word: W @ thread[1]) -> W @ thread[1]:
    """What `in_bucket` was given."""
    return (word >> 16 & W(0xFFFFFFFF)) << 32 | word & W(0xFFFF)


@prism.device
@requires(thread[1])
@template(K=dtype, W=dtype, BUCKETS=constexpr(int))
def scale_of(low: W @ thread[1], high: W @ thread[1], flip: K @ thread[1], lowest: K @ thread[1]) -> float32 @ thread[1]:
    """How many buckets the floats between two words have in 1; 0 where that is no number, or too many."""
    span: float32 = value_of(high, flip, lowest) - value_of(low, flip, lowest)
    return (1 << BUCKETS) / span if span > 1e-30 and span < 1e38 else 0.0


@prism.device
@requires(block[1], thread[1])
@template(K=dtype, W=dtype, V=dtype, VO=dtype, VALUES=constexpr(int), KIND=constexpr(int))
def write_word(
    x: ptr(const(K)) @ grid[1], given: ptr(const(V)) @ grid[1], y: ptr(K) @ block[1], values: ptr(V) @ block[1],
    positions: ptr(VO) @ block[1], word: W @ thread[1], spot: int32 @ thread[1], flip: K @ block[1], lowest: K @ block[1],
):
    """Write what belongs to a word, where `spot` is not negative. Zeros and NaNs, whose words don't tell all, are read again."""
    with (
        partition(y, thread[1], offset=spot, races="none") as result,
        partition(values, thread[1], offset=spot, races="none") as value_result,
        partition(positions, thread[1], offset=spot, races="none") as position_result,
        group(thread[1]),
    ):
        if spot >= 0:
            if W.bytes == K.bytes:
                result[0] = K(word) ^ flip
            else:
                from_: int32 = int32(word & W(0x7FFFFFFF))
                if VALUES == POSITIONS:
                    position_result[0] = VO(from_)
                else:
                    key: K = K(word >> 32)
                    if KIND == INTEGER:
                        result[0] = key ^ flip
                    else:
                        several: bool = key == ~K(0) or key == lower_zero(lowest) + K(1)
                        result[0] = x[from_] if several else decode(key, flip, lowest, KIND=FLOAT)
                if VALUES == GIVEN:
                    value_result[0] = given[from_]
