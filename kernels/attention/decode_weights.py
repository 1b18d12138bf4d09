"""A softmax made tile by tile, of few rows."""

from __future__ import annotations

import math

from prism.lang import (
    constexpr, count, fast_exp2_flush, float32, fragment, group, prism, requires, shuffle_xor, template, thread, warpgroup,
)  # fmt: skip


@prism("device")
@template(KEYS=constexpr(int), HALVES=constexpr(int))
@requires(warpgroup[1])
def weigh_rows(
    scores: fragment(float32, 64, KEYS) @ warpgroup[1], largest: float32[2] @ thread[1], total: float32[2] @ thread[1],
    factor: float32[2] @ thread[1], scale: float32 @ warpgroup[1],
):
    """`weigh` of softmax.py, of the thread's first `HALVES` rows alone.

    Perspective: warpgroup; the four threads that share rows agree on the largest score, and each has a part of the sum.
    Test:        tests/kernels/test_attention_decode.py
    """
    for h in range(HALVES):
        top: float32 @ thread[1] = -math.inf
        with group(thread[1]):
            for i in range(count(scores)):
                if i / 2 % 2 == h:
                    top = max(top, scores[i])
            top = max(scale * top, largest[h])
        for s in range(2):
            top = max(top, shuffle_xor(top, 1 << s))
        with group(thread[1]):
            factor[h] = fast_exp2_flush(largest[h] - top)
            largest[h] = top
            total[h] *= factor[h]
    with group(thread[1]):
        for i in range(count(scores)):
            if i / 2 % 2 < HALVES:
                scores[i] = fast_exp2_flush(scale * scores[i] - largest[i / 2 % 2])
                total[i / 2 % 2] += scores[i]


__all__ = ["weigh_rows"]
