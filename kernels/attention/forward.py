"""Attention: the softmax of queries' products with keys, times values, tile by tile of keys, so that no score leaves registers.

A block's warpgroups have 64 rows of queries each; one warp brings the tiles of queries, keys and values. A trip of the loop makes
the scores of a tile, and the sum of the values of the tile before by its weights, while those of this tile are made of its scores.
"""

from __future__ import annotations

from prism.kernels.attention.cut import Cut, Masks
from prism.kernels.attention.softmax import LEAST, mask, pack, weigh
from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, dtype, float32, fragment, grid, group, id, int32, int64, log2, one,
    partition, prism, ptr, requires, roles, row, set_registers, shared, shuffle_xor, stmatrix, template, thread, tma_load, tma_store,
    turns, uint32, warp, warpgroup, wgmma,
)  # fmt: skip


@prism("global")
@template(T=dtype, CUT=constexpr(Cut), MASKS=constexpr(Masks))
@requires(grid[1], block[1], thread[CUT.threads])
@attr("__launch_bounds__(CUT.threads, 1)")
def attend(
    q: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=128)) @ grid[1],
    k: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim_v, swizzle=128)) @ grid[1],
    o: CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v, swizzle=128) @ grid[1], lse: ptr(float32) @ grid[1], batches: int32 @ grid[1], heads: int32 @ grid[1], shared_by: int32 @ grid[1],
    rows: int32 @ grid[1], keys: int32 @ grid[1], ahead: int32 @ grid[1], back: int32 @ grid[1], scale: float32 @ grid[1],
):
    """`o = softmax(scale * q @ k.T) @ v` for each of `batches` times `heads`, rows of queries by `keys` keys.

    Perspective: grid, of any number of blocks.
    Shapes:      `q`: batches x heads x rows x `CUT.dim`; `k`, `v`: batches x (heads / shared_by) x keys. `o`: of `q`'s shape, its
                 strides are given. `lse`: batches x heads x rows, the logarithms of the sums of exponentials, where `MASKS.lse`.
                 Row r sees columns to r + `ahead` where `MASKS.causal`, and from r - `back` on where `MASKS.window`. `scale`
                 has the logarithm of e to base 2 as a factor.
    Numerics:    products are exact and added in float32; weights are rounded to `T`. A row that sees no column is zero.
    Source:      Dao, "FlashAttention-2"; Shah et al., "FlashAttention-3".
    Test:        tests/kernels/test_attention.py, tests/gpu/test_attention.py
    """
    tall: int32 @ grid[1] = (rows + (CUT.rows - 1)) / CUT.rows
    tiles: int32 @ grid[1] = tall * heads * batches
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with partition(lse, block[1], races="allow") as logs, group(block[1]):
        q_tile: shared(T[CUT.rows, CUT.dim], ring=CUT.held, swizzle=128)
        k_tile: shared(T[CUT.keys, CUT.dim], ring=CUT.stages, swizzle=128)
        v_tile: shared(T[CUT.keys, CUT.dim_v], ring=CUT.stages, swizzle=128)
        slab: shared(T[CUT.rows, CUT.dim_v], ring=1, swizzle=128)
        scores: fragment(float32, 64, CUT.keys) @ warpgroup[1] = 0
        weights: fragment(T, 64, CUT.keys) @ warpgroup[1] = 0
        sums: fragment(float32, 64, CUT.dim_v) @ warpgroup[1] = 0
        largest: float32[2] @ thread[1]
        total: float32[2] @ thread[1]
        factor: float32[2] @ thread[1]
        low: int32[2] @ thread[1]
        high: int32[2] @ thread[1]
        w: int32 @ warpgroup[1] = id()
        lane: int32 @ thread[1] = id() % 32
        strip: int32 @ warp[1] = id() * 16
        r_: int32 @ thread[1] = lane / 8 % 2 * 8 + lane % 8
        c_: int32 @ thread[1] = lane / 16 % 2 * 8
        workers, helpers = roles(warpgroup, CUT.groups, 1)
        consumers, loader, storer = roles(warp, 4 * CUT.groups, 1, 1)
        if CUT.registers > 0:
            with helpers:
                set_registers(CUT.loader_registers)
            with workers:
                set_registers(CUT.registers)
        for tile in range(b, tiles, blocks):
            # The longest first, where causal: the last rows of all heads.
            head: int32 @ block[1] = tile % heads if MASKS.causal else tile / tall % heads
            batch: int32 @ block[1] = tile / heads % batches if MASKS.causal else tile / tall / heads
            top: int32 @ block[1] = (tall - 1 - tile / heads / batches if MASKS.causal else tile % tall) * CUT.rows
            end: int32 @ block[1] = min(keys, top + ahead + CUT.rows) if MASKS.causal else keys
            least: int32 @ block[1] = max(0, top - back) if MASKS.window else 0
            begin: int32 @ block[1] = least / CUT.keys * CUT.keys
            with claim(q_tile, loader) as q_in, one(thread):
                tma_load(q_in, q[batch, head, top, 0])
            with consumers, group(thread[1]):
                for h in range(2):
                    r: int32 = top + 64 * w + row(scores, 2 * h)
                    low[h] = r - back if MASKS.window else 0
                    high[h] = min(keys, r + ahead + 1) if MASKS.causal else keys
                    largest[h] = LEAST
                    total[h] = 0
                for i in range(count(sums)):
                    sums[i] = 0
            with claim(q_tile, consumers) as q_now:
                for j in range(begin, end + CUT.keys, CUT.keys):
                    with claim(k_tile, loader) as k_in, one(thread):
                        if j < end:
                            tma_load(k_in, k[batch, head / shared_by, j, 0])
                    with claim(v_tile, loader) as v_in, one(thread):
                        if j > begin:
                            tma_load(v_in, v[batch, head / shared_by, j - CUT.keys, 0])
                    if CUT.turns:
                        with turns(workers):
                            with claim(k_tile, consumers, in_flight=1) as k_now, group(warpgroup[1]):
                                if j < end:
                                    wgmma(scores, q_now[64 * w, 0], k_now, accumulate=False)
                            with claim(v_tile, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                                if j > begin:
                                    wgmma(sums, weights, v_now, transpose_b=True)
                    else:
                        with claim(k_tile, consumers, in_flight=1) as k_now, group(warpgroup[1]):
                            if j < end:
                                wgmma(scores, q_now[64 * w, 0], k_now, accumulate=False)
                        with claim(v_tile, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                            if j > begin:
                                wgmma(sums, weights, v_now, transpose_b=True)
                    with consumers:
                        if j < end:
                            with group(warpgroup[1]):
                                # Of which some row sees not all columns; or of few more, so many trips from the first and last.
                                if j + CUT.keys > end - (CUT.rows - 1 if MASKS.causal else 0):
                                    mask(scores, low, high, j)
                                elif MASKS.window and j < begin + (CUT.keys + CUT.rows):
                                    mask(scores, low, high, j)
                                weigh(scores, largest, total, factor, scale)
                            with group(thread[1]):
                                for i in range(count(sums)):
                                    sums[i] *= factor[i / 2 % 2]
                                for i in range(count(weights)):
                                    weights[i] = T(scores[i])
            with partition(logs, thread[1], lambda r: (int64(batch) * heads + head) * rows + r, races="allow") as own, consumers:
                for h in range(2):
                    for s in range(2):
                        total[h] += shuffle_xor(total[h], 1 << s)
                with group(thread[1]):
                    for h in range(2):
                        factor[h] = 1 / total[h] if total[h] > 0 else 0
                        if MASKS.lse:
                            r: int32 = top + 64 * w + row(scores, 2 * h)
                            if r < rows and lane % 4 == 0:
                                own[r] = (largest[h] + log2(total[h])) * 0.6931471805599453
            with claim(slab, consumers) as to_slab, partition(to_slab, warp[1], lambda r, c: (strip + r, c)) as own, group(warp[1]):
                for p in range(CUT.dim_v / 16):
                    words: uint32[4] @ thread[1]
                    with group(thread[1]):
                        for e in range(4):
                            i: int32 = 8 * p + 2 * e
                            words[e] = pack(sums[i] * factor[e % 2], sums[i + 1] * factor[e % 2], T=T)
                    stmatrix(own[r_, 16 * p + c_], words)
            with claim(slab, storer) as done, one(thread):
                tma_store(o[batch, head, top, 0], done)


EXAMPLES = {"attend": {"T": "float16", "CUT": Cut(128, 128, 128), "MASKS": Masks()}}
