"""A softmax made tile by tile: the largest score so far, the sum so far, and by what to scale what was summed before."""

from __future__ import annotations

import math

from prism.lang import (
    bfloat16, column, constexpr, count, dtype, fast_divide, fast_exp2, fast_exp2_flush, float32, fragment, function, group, int32,
    pack_bf16x2, pack_f16x2, prism, requires, row, shuffle_xor, template, thread, uint32, warpgroup,
)  # fmt: skip

LEAST = -1e30
"""The largest score of no columns: finite, so that its difference from -inf, the score of a masked column, is no NaN."""
EIGHT = 8
"""Weights that become 8-bit floats are times 2^8: e4m3 holds up to 448, and nothing below 2^-9."""
LOG2_E = math.log2(math.e)
LN_2 = math.log(2.0)
DROP = 8
"""By how many powers of two the score that others are compared with may be below the largest one so far."""


@prism.device
@requires(thread[1])
def as_it_is(
    score: float32 @ thread[1], row: int32 @ thread[1], column: int32 @ thread[1], head: int32 @ thread[1]
) -> float32 @ thread[1]:
    """The score itself."""
    return score


@prism.device
@template(T=dtype)
@requires(thread[1])
def pack(a: float32 @ thread[1], b: float32 @ thread[1]) -> uint32 @ thread[1]:
    """Two numbers rounded to 16-bit floats, as a word."""
    if T == bfloat16:
        return pack_bf16x2(a, b)
    else:
        return pack_f16x2(a, b)


@prism.device
@template(KEYS=constexpr(int), CAP=constexpr(bool), SCORE=function)
@requires(warpgroup[1])
def change(
    scores: fragment(float32, 64, KEYS) @ warpgroup[1], top: int32 @ warpgroup[1], first: int32 @ warpgroup[1],
    head: int32 @ warpgroup[1], scale: float32 @ warpgroup[1], cap: float32 @ warpgroup[1],
):
    """Make products scores: `SCORE(cap * tanh(scale * product / cap), row, column, head)`, times the logarithm of e to base 2.

    Perspective: warpgroup; its first row is `top`, its first column `first`.
    Numerics:    the tanh is within some ulp of its bound.
    Test:        tests/kernels/test_attention.py
    """
    with group(thread[1]):
        for i in range(count(scores)):
            score: float32 = scale * scores[i]
            if CAP:  # of large ones the power is infinite, and the quotient 0
                score = cap - fast_divide(2 * cap, 1 + fast_exp2(score * fast_divide(float32(2 * LOG2_E), cap)))
            scores[i] = LOG2_E * SCORE(score, top + row(scores, i), first + column(scores, i), head)


@prism.device
@template(KEYS=constexpr(int))
@requires(warpgroup[1])
def mask(
    scores: fragment(float32, 64, KEYS) @ warpgroup[1], low: int32[2] @ thread[1], high: int32[2] @ thread[1],
    first: int32 @ warpgroup[1],
):
    """Give -inf to scores of columns outside `low` to `high`, of each of the thread's two rows; the tile begins at `first`.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention.py
    """
    with group(thread[1]):
        for i in range(count(scores)):
            c: int32 = first + column(scores, i)
            scores[i] = scores[i] if low[i // 2 % 2] <= c and c < high[i // 2 % 2] else -math.inf


@prism.device
@template(KEYS=constexpr(int), HELD=constexpr(int), MORE=constexpr(int))
@requires(warpgroup[1])
def compare(
    scores: fragment(float32, 64, KEYS) @ warpgroup[1], largest: float32[HELD] @ thread[1], total: float32[2] @ thread[1],
    factor: float32[2] @ thread[1], scale: float32 @ warpgroup[1],
):
    """Make `largest` the largest of `scale * score`, of the thread's two rows; the sum so far is scaled by what it was to it.

    Perspective: warpgroup; the four threads that share rows agree on the largest score, and each has a part of the sum.
    Shapes:      `largest` is that score less `MORE`, so weights and their sum are times 2^`MORE`. Where four numbers are `HELD`,
                 the last two are those, and the first two those of this tile alone, or 2^`DROP` below: a tile's largest weight
                 is a power of two then, which rounding leaves as it is, and large weights are those that count. `factor`: by
                 what to scale what was summed by the last `largest`.
    Source:      Milakov and Gimelshein, "Online normalizer calculation for softmax".
    Test:        tests/kernels/test_attention.py
    """
    for h in range(2):
        top: float32 @ thread[1] = -math.inf
        with group(thread[1]):
            for i in range(2 * h, count(scores), 4):
                top = max(top, max(scores[i], scores[i + 1]))
            top = max(scale * top - MORE if MORE > 0 else scale * top, largest[h] if HELD == 2 else -math.inf)
        for s in range(2):
            top = max(top, shuffle_xor(top, 1 << s))
        with group(thread[1]):
            if HELD == 4:
                largest[2 + h] = max(largest[2 + h], top)
                top = max(top, largest[2 + h] - DROP)
            factor[h] = fast_exp2_flush(largest[h] - top)
            largest[h] = top
            total[h] *= factor[h]


@prism.device
@template(KEYS=constexpr(int), HELD=constexpr(int), FOURS=constexpr(bool))
@requires(warpgroup[1])
def exponentiate(
    scores: fragment(float32, 64, KEYS) @ warpgroup[1], largest: float32[HELD] @ thread[1], total: float32[2] @ thread[1],
    scale: float32 @ warpgroup[1],
):
    """Make scores their weights, `exp2(scale * score - largest)`, of the thread's two rows, and add them to `total`.

    Where `FOURS`, four of a row are added to each other first, so that fewer sums wait for a power that was just asked for.

    Perspective: warpgroup; each thread has a part of the sum.
    Test:        tests/kernels/test_attention.py
    """
    with group(thread[1]):
        for i in range(0, count(scores), 8):
            for e in range(8):
                scores[i + e] = fast_exp2_flush(scale * scores[i + e] - largest[e // 2 % 2])
                if not FOURS:
                    total[e // 2 % 2] += scores[i + e]
            if FOURS:
                for h in range(2):
                    k: int32 = i + 2 * h
                    total[h] += scores[k] + scores[k + 1] + (scores[k + 4] + scores[k + 5])


__all__ = [
    "EIGHT", "LEAST", "LN_2", "LOG2_E", "as_it_is", "change", "compare", "exponentiate", "mask", "pack",
]  # fmt: skip
