"""Parts of attention: what a row's weights add up to, and its results on their way out."""

from __future__ import annotations

from prism.kernels.attention.softmax import LOG2_E, pack
from prism.lang import (
    constexpr, dtype, fast_exp2, float32, fragment, group, id, int32, partition, prism, requires, shared, shuffle_xor,
    stmatrix, template, thread, uint32, warp, warpgroup,
)  # fmt: skip


@prism("device")
@template(HELD=constexpr(int), SINKS=constexpr(bool))
@requires(warpgroup[1])
def finish_rows(
    total: float32[2] @ thread[1], largest: float32[HELD] @ thread[1], factor: float32[2] @ thread[1],
    sink: float32 @ warpgroup[1], scale: float32 @ warpgroup[1],
):
    """Make `factor` what sums are scaled by, of the thread's two rows: 1 by the total, times `scale`.

    Perspective: warpgroup; the four threads that share rows have a part of the total each.
    Shapes:      `sink`, where `SINKS`: one more score, of no value.
    Test:        tests/kernels/test_attention.py
    """
    for h in range(2):
        for s in range(2):
            total[h] += shuffle_xor(total[h], 1 << s)
    with group(thread[1]):
        for h in range(2):
            top: float32 = largest[h]
            if SINKS:
                largest[h] = max(top, LOG2_E * sink)
                total[h] = total[h] * fast_exp2(top - largest[h]) + fast_exp2(LOG2_E * sink - largest[h])
            # Of no columns the sum is 0, or that of the sink alone.
            factor[h] = fast_exp2(top - largest[h]) / total[h] * scale if total[h] > 0 else total[h]


@prism("device")
@template(T=dtype, COLUMNS=constexpr(int), SPAN=constexpr(int))
@requires(warpgroup[1])
def put_rows(
    tile: shared(T[64, COLUMNS], swizzle=SPAN) @ warpgroup[1], sums: fragment(float32, 64, COLUMNS) @ warpgroup[1],
    factor: float32[2] @ thread[1],
):
    """Store sums times their rows' factors, rounded.

    Perspective: warpgroup; each warp stores the 16 rows that it has.
    Test:        tests/kernels/test_attention.py
    """
    strip: int32 @ warp[1] = 16 * id()
    lane: int32 @ thread[1] = id() % 32
    with partition(tile, warp[1], lambda r, c: (strip + r, c)) as own, group(warp[1]):
        for p in range(COLUMNS / 16):
            words: uint32[4] @ thread[1]
            with group(thread[1]):
                for e in range(4):
                    i: int32 = 8 * p + 2 * e
                    words[e] = pack(sums[i] * factor[e % 2], sums[i + 1] * factor[e % 2], T=T)
            stmatrix(own[lane % 16, 16 * p + lane / 16 * 8], words)


__all__ = ["finish_rows", "put_rows"]
