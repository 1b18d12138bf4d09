"""Parts of the backward of attention: weights and gradients of scores, what a cap does to them, and sums as rows of a tile."""

from __future__ import annotations

from prism.kernels.attention.backward_cut import BackwardCut
from prism.kernels.attention.backward_place import Sight
from prism.kernels.attention.cut import Terms
from prism.kernels.attention.softmax import LOG2_E, mask, pack
from prism.lang import (
    bitcast, block, column, const, constexpr, count, dtype, fast_divide, fast_exp2, fast_exp2_flush, float32, fragment,
    grid, group, id, int32, partition, prism, requires, shared, stmatrix, template, thread, uint32, vector, warp,
    warpgroup, wgmma,
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


@prism.device
@template(
    T=dtype, CUT=constexpr(BackwardCut), TERMS=constexpr(Terms), MASKED=constexpr(bool), OF_KEYS=constexpr(bool)
)  # fmt: skip
@requires(warpgroup[1])
def weigh(
    scores: fragment(float32, 64, CUT.rows) @ warpgroup[1], steps: fragment(float32, 64, CUT.rows) @ warpgroup[1],
    slopes: fragment(T, 64, CUT.rows) @ warpgroup[1], of_row: const(shared(float32[2, CUT.rows])) @ warp[4 * CUT.groups],
    low: int32[2] @ thread[1], high: int32[2] @ thread[1], see: Sight @ block[1], j: int32 @ block[1], scale: float32 @ grid[1],
    cap: float32 @ grid[1],
):
    """Make scores weights, and `steps`, gradients of weights, those of scores: `slopes`, rounded.

    Perspective: warpgroup; its rows are keys, of which a thread has two, that rows from `low` to `high` see. The tile of rows
                 begins at j; `of_row` is what `prepare` made of each.
    Test:        tests/kernels/test_attention_backward.py
    """
    if TERMS.cap:
        with group(thread[1]):
            for i in range(count(steps)):
                steps[i] -= of_row[1, column(steps, i)]
        bound(scores, steps, scale, cap)
    if MASKED:
        if j < see.masked:
            mask(scores, low, high, j)
        elif TERMS.window and j > see.ends:
            mask(scores, low, high, j)
    with group(thread[1]):
        for i in range(count(scores)):
            score: float32 = scores[i] if TERMS.cap else scale * LOG2_E * scores[i]
            scores[i] = fast_exp2_flush(score - of_row[0, column(scores, i)])
    if OF_KEYS:
        with group(thread[1]):
            for i in range(count(steps)):
                step: float32 = steps[i] if TERMS.cap else steps[i] - of_row[1, column(steps, i)]
                steps[i] = scores[i] * step
        round_pairs(slopes, steps)


@prism.device
@template(T=dtype, CUT=constexpr(BackwardCut))
@requires(warp["4 * CUT.groups"])
def multiply_slopes(
    part: fragment(float32, 64, CUT.part_rows) @ warpgroup[1], slopes: fragment(T, 64, CUT.rows) @ warpgroup[1],
    keys: shared(T[CUT.keys, CUT.dim], swizzle=128) @ warp[4 * CUT.groups],
    tile: shared(T[CUT.keys, CUT.rows], swizzle=CUT.span) @ warp[4 * CUT.groups], w: int32 @ warpgroup[1],
    strip: int32 @ warp[1], lane: int32 @ thread[1],
):
    """Put gradients of scores into a tile, and make a `part` of dQ of it and of keys, transposed: rows are columns of dQ.

    Perspective: all warps that multiply; `strip` is a warp's first key.
    Test:        tests/kernels/test_attention_backward.py
    """
    with partition(tile, warp[1], lambda r, c: (strip + r, c)) as own, group(warp[1]):
        for p in range(CUT.rows // 16):
            words: uint32[4] @ thread[1]
            with group(thread[1]):
                for e in range(4):
                    i: int32 = 8 * p + 2 * e
                    words[e] = bitcast(vector(T, 2)(slopes[i], slopes[i + 1]), uint32)
            stmatrix(own[lane % 16, 16 * p + lane // 16 * 8], words)
    with group(warpgroup[1]):
        wgmma(
            part, keys[0, 64 * (w % CUT.across)], tile[0, CUT.part_rows * (w // CUT.across)], transpose_a=True, transpose_b=True,
            accumulate=False,
        )  # fmt: skip


__all__ = ["bound", "multiply_slopes", "put", "round_pairs", "weigh"]
