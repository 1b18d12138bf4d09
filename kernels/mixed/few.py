"""Products of few rows and weights of 4 or 8 bits: each weight is read once, by one warp, from memory into its registers.

The weights are the first operand of `mma.sync`, and the rows the second, so one of 16 x 8 has 16 columns of the result.
The warps of a block share its K, and add up what they have at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism.kernels.mixed.words import DEEP, LANES, STRIP, expand, offset_of, scale_pairs
from prism.lang import (
    assume, attr, bitcast, block, const, constexpr, dtype, float16, float32, grid, group, id, int32, int64, load_vector,
    mma_m16n8k16_bf16, mma_m16n8k16_f16, pack_bf16x2, pack_f16x2, partition, prism, ptr, requires, shared, template, thread,
    uint8, uint32, vector, warp,
)  # fmt: skip

ROWS = 8
"""Rows of a product of the tensor cores."""


@dataclass(frozen=True)
class FewCut:
    """A block has `strips` of 16 columns and `tiles` of 8 rows, and `warps` that share K; each loads `ahead` steps at once.

    A group of K has one scale a column. `fine`: groups of 32, so a product has two of them, and weights are multiplied by their
    scales, not sums. `zeros`: there are zero points; else they are the middle. `whole`: columns are whole blocks', and scales of
    columns lie side by side. `blocks` run on a multiprocessor.
    """

    bits: int
    tiles: int
    strips: int
    warps: int = 8
    ahead: int = 2
    fine: bool = False
    zeros: bool = False
    whole: bool = False
    blocks: int = 2

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return ROWS * self.tiles

    @property
    def columns(self) -> int:
        """Columns of a block."""
        return STRIP * self.strips

    @property
    def pitch(self) -> int:
        """Elements from a row of sums to the next: four lanes' rows and eight lanes' columns then lie in 32 banks."""
        return self.columns + 4


@prism.kernel
@template(T=dtype, TS=dtype, CUT=constexpr(FewCut))
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def multiply_few(
    x: ptr(const(T)) @ grid[1], apart: int64 @ grid[1], packed: ptr(const(int32)) @ grid[1], scales: ptr(const(TS)) @ grid[1],
    zeros: ptr(const(uint8)) @ grid[1], scale_k: int64 @ grid[1], scale_n: int64 @ grid[1], zero_k: int64 @ grid[1],
    zero_n: int64 @ grid[1], out: ptr(T) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1],
    k: int32 @ grid[1], size: int32 @ grid[1],
):  # fmt: skip
    """`out = x @ w`, where `w[kk, j] = (q[kk, j] - zeros[kk // size, j]) * scales[kk // size, j]`.

    Perspective: grid, of a block for each `CUT.columns` columns of each `CUT.rows` rows; blocks of the same columns side by side.
    Shapes:      `x`: m x k, its rows `apart` elements apart, at multiples of 16 bytes; k is a multiple of 32, and of `size`,
                 which is one of 64, or 32 where `CUT.fine`. `packed`: as `pack_words` makes it. `scales`, `zeros`: k / size x n,
                 of any steps. `out`: m x n, its rows `stride` elements apart.
    Numerics:    products with q - zero are exact and added in float32; sums of each 64 of K are multiplied by their scales there.
                 Where `CUT.fine`, weights are multiplied, and rounded. Warps' sums are added in their order.
    Cost:        the weights once for each `CUT.rows` rows, and all of these rows once for each `CUT.columns` columns.
    Test:        tests/kernels/test_mixed.py, tests/gpu/test_mixed.py
    """
    assume(m >= 1 and n >= 1 and k >= 1 and size >= 1)
    PARTS: constexpr(int) = 4 * CUT.tiles
    MIDDLE: constexpr(int) = 2 ** (CUT.bits - 1)
    down: int32 @ grid[1] = (m + (CUT.rows - 1)) // CUT.rows
    steps: int32 @ grid[1] = (k + (DEEP - 1)) // DEEP
    b: int32 @ block[1] = id()
    top: int32 @ block[1] = b % down * CUT.rows
    left: int32 @ block[1] = b // down * CUT.columns
    with partition(out, thread[1], lambda y, j: y * stride + j, races="none") as target, group(block[1]):
        parts: shared(float32[CUT.warps, CUT.rows, CUT.pitch])
        w: int32 @ warp[1] = id()
        lane: int32 @ thread[1] = id() % 32
        sums: float32[CUT.strips * PARTS] @ thread[1] = {0}
        words: uint32[CUT.ahead * CUT.strips * CUT.bits] @ thread[1]
        raw: TS[2 * CUT.ahead * CUT.strips] @ thread[1]
        points: uint8[2 * CUT.ahead * CUT.strips] @ thread[1] = {0}

        @requires(thread[1])
        def ask(
            to: uint32[CUT.ahead * CUT.strips * CUT.bits] @ thread[1], its: TS[2 * CUT.ahead * CUT.strips] @ thread[1],
            zero: uint8[2 * CUT.ahead * CUT.strips] @ thread[1], first: int32 @ thread[1],
        ):  # fmt: skip
            for a in range(CUT.ahead):
                load_words(packed, to, a, left // STRIP, n, steps, first + a, lane, CUT=CUT)
            for a in range(CUT.ahead):
                g: int32 = min((first + a) * DEEP + (lane % 4 * 16 if CUT.fine else 0), k - 1) // size
                for e in range(2 * CUT.strips):
                    beside: int32 = e // 2 * STRIP + e % 2 * 8
                    j: int32 = left + lane // 4 + beside if CUT.whole else min(left + lane // 4 + beside, n - 1)
                    its[2 * a * CUT.strips + e] = scales[g * scale_k + (j if CUT.whole else j * scale_n)]
                    if CUT.zeros:
                        zero[2 * a * CUT.strips + e] = zeros[g * zero_k + (j if CUT.whole else j * zero_n)]

        with group(thread[1]):
            ask(words, raw, points, w * CUT.ahead)
        with group(warp[1]):
            for first in range(w * CUT.ahead, steps, CUT.warps * CUT.ahead, unroll=1):
                rows: uint32[CUT.ahead * CUT.tiles * ROWS] @ thread[1]
                coming: uint32[CUT.ahead * CUT.strips * CUT.bits] @ thread[1]  # under way while these are multiplied
                coming_raw: TS[2 * CUT.ahead * CUT.strips] @ thread[1]
                coming_points: uint8[2 * CUT.ahead * CUT.strips] @ thread[1] = {0}
                with group(thread[1]):
                    for a in range(CUT.ahead):
                        load_rows(x, apart, rows, a, top, m, k, (first + a) * DEEP + lane % 4 * 16, lane // 4, CUT=CUT)
                    ask(coming, coming_raw, coming_points, first + CUT.warps * CUT.ahead)
                for a in range(0, CUT.ahead, unroll=True):
                    for s in range(0, CUT.strips, unroll=True):
                        factors: float32[2] @ thread[1]
                        offsets: uint32[2] @ thread[1]
                        with group(thread[1]):
                            for h in range(2):
                                at: int32 = 2 * (a * CUT.strips + s) + h
                                factors[h] = float32(raw[at])
                                offsets[h] = offset_of(int32(points[at]) if CUT.zeros else MIDDLE, T=T, BITS=CUT.bits)
                        multiply_step(sums, words, rows, factors, offsets, a, s, T=T, CUT=CUT)
                with group(thread[1]):
                    for e in range(CUT.ahead * CUT.strips * CUT.bits):
                        words[e] = coming[e]
                    for e in range(2 * CUT.ahead * CUT.strips):
                        raw[e] = coming_raw[e]
                        points[e] = coming_points[e]
        with partition(parts, thread[1], lambda y, c: (w, lane % 4 * 2 + y, lane // 4 + c)) as own, group(thread[1]):
            for s in range(CUT.strips):
                for q in range(CUT.tiles):
                    for e in range(4):
                        own[q * ROWS + e % 2, s * STRIP + e // 2 * 8] = sums[s * PARTS + q * 4 + e]
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            for e in range(t, CUT.rows * CUT.columns, CUT.threads):
                y: int32 = e // CUT.columns
                c: int32 = e % CUT.columns
                sum: float32 = 0
                for v in range(CUT.warps):
                    sum += parts[v, y, c]
                if top + y < m and left + c < n:
                    target[top + y, left + c] = T(sum)


@prism.device
@template(CUT=constexpr(FewCut), MANY=constexpr(int))
@requires(thread[1])
def load_words(
    packed: ptr(const(int32)) @ grid[1], words: uint32[MANY] @ thread[1], a: int32 @ thread[1], strip: int32 @ thread[1],
    n: int32 @ thread[1], steps: int32 @ thread[1], step: int32 @ thread[1], lane: int32 @ thread[1],
):  # fmt: skip
    """Load the words of the `a`-th step: of each strip those of two columns and 16 of K; zeros beyond the last."""
    EACH: constexpr(int) = CUT.bits // 4  # loads of 16 bytes
    for s in range(CUT.strips):
        at: int64 = ((int64(strip + s) * steps + step) * 4 + lane % 4) * (LANES * EACH) + lane // 4 * (4 * EACH)
        for h in range(EACH):
            few: vector(int32, 4) = vector(int32, 4)(0)
            if step < steps and (CUT.whole or (strip + s) * STRIP < n):
                few = load_vector(packed[at + 4 * h], 4, cache="no_allocate")
            for v in range(4):
                words[(a * CUT.strips + s) * CUT.bits + 4 * h + v] = uint32(few[v])


@prism.device
@template(T=dtype, CUT=constexpr(FewCut), MANY=constexpr(int))
@requires(thread[1])
def load_rows(
    x: ptr(const(T)) @ grid[1], apart: int64 @ grid[1], rows: uint32[MANY] @ thread[1], a: int32 @ thread[1],
    top: int32 @ thread[1], m: int32 @ thread[1], k: int32 @ thread[1], first: int32 @ thread[1], y: int32 @ thread[1],
):  # fmt: skip
    """Load 16 elements of the `y`-th of each 8 rows, from the `first` of K on, for the `a`-th step; zeros beyond the last."""
    for q in range(CUT.tiles):
        for h in range(2):
            few: vector(T, 8) = vector(T, 8)(0)
            if top + q * ROWS + y < m and first < k:
                few = load_vector(x[(top + q * ROWS + y) * apart + first + 8 * h], 8)
            four: vector(uint32, 4) = bitcast(few, vector(uint32, 4))
            for v in range(4):
                rows[(a * CUT.tiles + q) * ROWS + 4 * h + v] = four[v]


@prism.device
@template(T=dtype, CUT=constexpr(FewCut), N=constexpr(int), WORDS=constexpr(int), ROWS_OF=constexpr(int))
@requires(warp[1])
def multiply_step(
    sums: float32[N] @ thread[1], words: uint32[WORDS] @ thread[1], rows: uint32[ROWS_OF] @ thread[1],
    factors: float32[2] @ thread[1], offsets: uint32[2] @ thread[1], a: int32 @ warp[1], s: int32 @ warp[1],
):  # fmt: skip
    """Add the products of a step of 64 of K, of a strip and all rows, to a warp's sums."""
    EACH: constexpr(int) = CUT.bits // 4
    PARTS: constexpr(int) = 4 * CUT.tiles
    parts: float32[PARTS] @ thread[1] = {0}
    for v in range(0, 4, unroll=True):
        pairs: uint32[4] @ thread[1]
        with group(thread[1]):
            few: uint32[EACH]
            for h in range(EACH):
                few[h] = words[(a * CUT.strips + s) * CUT.bits + v * EACH + h]
            expand(few, offsets, pairs, T=T, BITS=CUT.bits)
            if CUT.fine:
                both: uint32[2]
                for h in range(2):
                    both[h] = pack_f16x2(factors[h], factors[h]) if T == float16 else pack_bf16x2(factors[h], factors[h])
                scale_pairs(pairs, both, T=T)
        for q in range(0, CUT.tiles, unroll=True):
            two: uint32[2] @ thread[1]
            four: float32[4] @ thread[1]
            with group(thread[1]):
                for h in range(2):
                    two[h] = rows[(a * CUT.tiles + q) * ROWS + 4 * h + v]
                for e in range(4):
                    four[e] = parts[4 * q + e]
            if T == float16:
                mma_m16n8k16_f16(pairs, two, four)
            else:
                mma_m16n8k16_bf16(pairs, two, four)
            with group(thread[1]):
                for e in range(4):
                    parts[4 * q + e] = four[e]
    with group(thread[1]):
        for e in range(PARTS):
            sums[s * PARTS + e] += parts[e] if CUT.fine else factors[e % 4 // 2] * parts[e]


__all__ = ["FewCut", "multiply_few"]
