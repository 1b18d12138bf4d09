"""Products of many rows and weights of 4 or 8 bits: wgmma takes the weights from registers, where they became 16-bit floats.

What is made is the transpose: the weights' columns are the rows of a tile, and the rows of `x` its columns. The tiles' order, the
pipeline over K and the way that sums leave are those of other products (prism/kernels/hgemm). What is here is what a step of the
main loop does: each thread reads the words of its own part of the operand, makes 16-bit floats of them and multiplies these by
their scales, while another warpgroup's products are made.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism.kernels.hgemm.cut import Cut, Terms
from prism.kernels.hgemm.epilogue import identity, store_slabs
from prism.kernels.hgemm.main_loop import share_registers
from prism.kernels.hgemm.schedule import in_columns
from prism.kernels.mixed.words import DEEP, LANES, STRIP, expand, scale_pairs
from prism.lang import (
    CUtensorMap, assume, attr, bitcast, block, bulk_load, claim, const, constexpr, count, dtype, float32, fragment, grid, group,
    id, int32, int64, load_vector, one, partition, prefetch_map, prism, ptr, requires, roles, shared, template, thread, tma_load,
    uint32, vector, warp, warpgroup, wgmma,
)  # fmt: skip

NO_TERMS = Terms()


@dataclass(frozen=True)
class Weights:
    """Weights of so many `bits`. `fine`: each 32 of K have scales, else multiples of 64."""

    bits: int
    fine: bool = False

    @property
    def each(self) -> int:
        """Groups in a step."""
        return 2 if self.fine else 1

    @property
    def words(self) -> int:
        """Words of a strip in a step."""
        return DEEP * STRIP * self.bits // 32


@prism.kernel
@template(T=dtype, CUT=constexpr(Cut), WEIGHTS=constexpr(Weights), PLAIN=constexpr(bool))
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def multiply_packed(
    map_w: const(CUtensorMap(int32, CUT.bm // STRIP, WEIGHTS.words)) @ grid[1],
    map_x: const(CUtensorMap(T, CUT.bn, DEEP, swizzle=128)) @ grid[1],
    unread: const(CUtensorMap(T, CUT.slab_rows, CUT.slab_columns, swizzle=CUT.span)) @ grid[1],
    map_out: CUtensorMap(T, CUT.slab_rows, CUT.slab_columns, swizzle=CUT.span) @ grid[1], out: ptr(T) @ grid[1],
    stride: int64 @ grid[1], factors: ptr(const(uint32)) @ grid[1], pitch: int32 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], size: int32 @ grid[1], down: int32 @ grid[1], none: ptr(const(float32)) @ grid[1],
):  # fmt: skip
    """`out = x @ w`, where `w[kk, j]` is `(q[kk, j] - zeros[kk // size, j]) * scales[kk // size, j]`, rounded to `T`.

    Perspective: grid, of any number of blocks.
    Shapes:      `map_w`: the words that `pack_words` makes, strips by those of all of K; `map_x`: m x k; `map_out`: m x n. Where
                 `PLAIN`, `out` is written instead, its rows `stride` elements apart. `factors`: as `prepare_factors` makes them,
                 in rows of `pitch`, a multiple of `CUT.bm`; of groups of `size`, a multiple of 64, or 32 where `WEIGHTS.fine`;
                 then there is one more. `down` tiles of the weights are taken before those of other rows.
    Numerics:    scales are rounded to `T`, and weights; products are exact, and added in float32, in the order of k.
    Cost:        `CUT.stages` tiles of words and of `x`, with their factors, and `CUT.slabs` slabs, in shared memory.
    Test:        tests/kernels/test_mixed.py, tests/gpu/test_mixed.py
    """
    assume(m >= 1 and n >= 1 and k >= 1 and size >= 1 and down >= 1)
    tiles_n: int32 @ grid[1] = (n + (CUT.bm - 1)) // CUT.bm
    tiles_m: int32 @ grid[1] = (m + (CUT.bn - 1)) // CUT.bn
    blocks: int32 @ grid[1] = count(block[1])
    first: int32 @ block[1] = id()
    with partition(out, block[1], 0, races="none") as whole, group(block[1]):
        sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1]
        workers, helpers = roles(warpgroup, CUT.consumers, 1)
        consumers, loader, fetcher, storer = roles(warp, CUT.warps, 1, 1, 1)
        share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
        with loader, one(thread):
            prefetch_map(map_w)
            prefetch_map(map_x)

        @requires(block[1], thread["CUT.threads"])
        def make_tile(product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1]):
            multiply_words(
                sums, consumers, loader, map_w, map_x, factors, pitch, i, j, k, size, CUT=CUT, WEIGHTS=WEIGHTS,
            )  # fmt: skip
            store_slabs(
                sums, consumers, fetcher, storer, unread, map_out, whole, stride, none, none, none, product, i, j, n, m, 1.0,
                0.0, CUT=CUT, TERMS=NO_TERMS, PLAIN=PLAIN, BATCHED=False, EPILOGUE=identity,
            )  # fmt: skip

        in_columns(first, blocks, 0, tiles_n * tiles_m, tiles_n, tiles_m, 1, down, CUT=CUT, BATCHED=False, TILE=make_tile)


@prism.device
@template(T=dtype, CUT=constexpr(Cut), WEIGHTS=constexpr(Weights))
@requires(block[1], thread["CUT.threads"])
def multiply_words(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), loader: roles(warp, 1),
    map_w: const(CUtensorMap(int32, CUT.bm // STRIP, WEIGHTS.words)) @ grid[1],
    map_x: const(CUtensorMap(T, CUT.bn, DEEP, swizzle=128)) @ grid[1], factors: ptr(const(uint32)) @ grid[1],
    pitch: int32 @ grid[1], i: int32 @ block[1], j: int32 @ block[1], k: int32 @ grid[1], size: int32 @ grid[1],
):  # fmt: skip
    """Make the `sums` of a tile of the weights' columns from i on, and rows of `x` from j on.

    Perspective: block; the loader runs ahead of the consumers.
    Test:        tests/kernels/test_mixed.py
    """
    EACH: constexpr(int) = WEIGHTS.bits // 4  # words of a lane
    ROW: constexpr(int) = 2 * CUT.bm  # words of a group's factors
    w: shared(int32[CUT.bm // STRIP, WEIGHTS.words], ring=CUT.stages)
    x: shared(T[CUT.bn, DEEP], ring=CUT.stages, swizzle=128)
    by: shared(uint32[WEIGHTS.each * ROW], ring=CUT.stages, align=16)
    operand: fragment(T, 64, DEEP) @ warpgroup[1] = 0
    g: int32 @ warpgroup[1] = id()
    lane: int32 @ thread[1] = id() % 32

    @requires(block[1], thread["CUT.threads"])
    def fill(step: int32 @ block[1]):
        with claim(w, loader) as to_w, claim(x, loader) as to_x, claim(by, loader) as to_by, one(thread):
            tma_load(to_w, map_w[i // STRIP, step // DEEP * WEIGHTS.words])
            tma_load(to_x, map_x[j, step])
            for e in range(WEIGHTS.each):
                bulk_load(to_by[ROW * e], factors[(int64(step // size + e) * pitch + i) * 2], n=ROW)

    @requires(warp["CUT.warps"])
    def use(
        of_w: shared(int32[CUT.bm // STRIP, WEIGHTS.words]) @ warp[CUT.warps],
        of_x: shared(T[CUT.bn, DEEP], swizzle=128) @ warp[CUT.warps],
        of_by: shared(uint32[WEIGHTS.each * ROW]) @ warp[CUT.warps], step: int32 @ warp[CUT.warps],
    ):  # fmt: skip
        with group(warpgroup[1]):
            upper: int32 @ warp[1] = 64 * g + id() % 4 * STRIP
            scales: uint32[2 * WEIGHTS.each] @ thread[1]
            offsets: uint32[2 * WEIGHTS.each] @ thread[1]
            with group(thread[1]):
                for e in range(2 * WEIGHTS.each):
                    pair: vector(uint32, 2) = load_vector(of_by[e // 2 * ROW + (upper + lane // 4 + e % 2 * 8) * 2], 2)
                    scales[e] = pair[0]
                    offsets[e] = pair[1]
                for q in range(DEEP // 16):
                    few: uint32[EACH]
                    pairs: uint32[4]
                    two: uint32[2]
                    half: int32 = q // 2 * 2 if WEIGHTS.fine else 0
                    for h in range(EACH):
                        few[h] = uint32(of_w[upper // STRIP, (q * LANES + lane) * EACH + h])
                    for h in range(2):
                        two[h] = offsets[half + h]
                    expand(few, two, pairs, T=T, BITS=WEIGHTS.bits)
                    for h in range(2):
                        two[h] = scales[half + h]
                    scale_pairs(pairs, two, T=T)
                    for p in range(4):
                        both: vector(T, 2) = bitcast(pairs[p], vector(T, 2))
                        for e in range(2):
                            operand[8 * q + 2 * p + e] = both[e]
            wgmma(sums, operand, of_x, accumulate=step > 0)

    grid.pipeline_of_three(w, x, by, consumers, 0, k, THREADS=CUT.threads, STEP=DEEP, FILL=fill, USE=use)


__all__ = ["Weights", "multiply_packed"]
