"""Parts of the backward of attention: what a cap does to gradients of scores; sums as rows of a tile."""

from __future__ import annotations

from prism.kernels.attention.softmax import LOG2_E, pack
from prism.lang import (
    bitcast, constexpr, count, dtype, fast_divide, fast_exp2, float32, fragment, group, id, int32, partition, prism, requires,
    shared, stmatrix, template, thread, uint32, vector, warp, warpgroup,
)  # fmt: skip


@prism.device
@template(COLUMNS=constexpr(int))
@requires(warpgroup[1])
def bound(
    scores: fragment(float32, 64, COLUMNS) @ warpgroup[1], steps: fragment(float32, 64, COLUMNS) @ warpgroup[1],
    scale: float32 @ warpgroup[1], cap: float32 @ warpgroup[1],
):
    """Make products scores, `cap * tanh(scale * product / cap)` times the logarithm of e to base 2, and `steps` theirs.

    The gradient of a tanh is 1 - tanh^2: where 1 - tanh is u, that is u * (2 - u), which loses nothing near the bound.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_backward.py
    """
    with group(thread[1]):
        for i in range(count(scores)):
            # Of a large score the power is infinite, and u is 0.
            u: float32 = fast_divide(2.0, 1 + fast_exp2(scale * scores[i] * fast_divide(float32(2 * LOG2_E), cap)))
            scores[i] = LOG2_E * cap * (1 - u)
            steps[i] *= u * (2 - u)


@prism.device
@template(T=dtype, COLUMNS=constexpr(int))
@requires(warpgroup[1])
def round_pairs(rounded: fragment(T, 64, COLUMNS) @ warpgroup[1], numbers: fragment(float32, 64, COLUMNS) @ warpgroup[1]):
    """Round numbers, two by an instruction: one by one they would go through the unit that makes powers.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_backward.py
    """
    with group(thread[1]):
        for i in range(0, count(numbers), 2):
            two: vector(T, 2) = bitcast(pack(numbers[i], numbers[i + 1], T=T), vector(T, 2))
            for e in range(2):
                rounded[i + e] = two[e]


@prism.device
@template(T=dtype, COLUMNS=constexpr(int))
@requires(warpgroup[1])
def put(
    tile: shared(T[64, COLUMNS], swizzle=128) @ warpgroup[1], sums: fragment(float32, 64, COLUMNS) @ warpgroup[1],
    factor: float32 @ warpgroup[1],
):
    """Store sums times a factor, rounded.

    Perspective: warpgroup; each warp stores the 16 rows that it has.
    Test:        tests/kernels/test_attention_backward.py
    """
    strip: int32 @ warp[1] = 16 * id()
    lane: int32 @ thread[1] = id() % 32
    with partition(tile, warp[1], lambda r, c: (strip + r, c)) as own, group(warp[1]):
        for p in range(COLUMNS // 16):
            words: uint32[4] @ thread[1]
            with group(thread[1]):
                for e in range(4):
                    words[e] = pack(factor * sums[8 * p + 2 * e], factor * sums[8 * p + 2 * e + 1], T=T)
            stmatrix(own[lane % 16, 16 * p + lane // 16 * 8], words)


__all__ = ["bound", "put", "round_pairs"]
