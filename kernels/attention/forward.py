"""Attention: the softmax of queries' products with keys, times values, tile by tile of keys, so that no score leaves registers.

A block's warpgroups have 64 rows of queries each; one warp brings the tiles of queries, keys and values. A trip of the loop makes
the scores of a tile, and the sum of the values of the tile before by its weights, while those of this tile are made of its scores.
"""

from __future__ import annotations

from prism.kernels.attention.cut import Cut, Masks
from prism.kernels.attention.softmax import LEAST, mask, weigh
from prism.lang import (
    CUtensorMap, attr, block, claim, column, const, constexpr, count, dtype, float32, fragment, grid, group, id, int32, int64,
    log2, one, partition, prism, ptr, requires, roles, row, set_registers, shared, shuffle_xor, store_vector, template, thread,
    tma_load, turns, vector, warpgroup, wgmma,
)  # fmt: skip


@prism("global")
@template(T=dtype, CUT=constexpr(Cut), MASKS=constexpr(Masks))
@requires(grid[1], block[1], thread[CUT.threads])
@attr("__launch_bounds__(CUT.threads, 1)")
def attend(
    q: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=128)) @ grid[1],
    k: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim_v, swizzle=128)) @ grid[1],
    o: ptr(T) @ grid[1], lse: ptr(float32) @ grid[1], batches: int32 @ grid[1], heads: int32 @ grid[1], shared_by: int32 @ grid[1],
    rows: int32 @ grid[1], keys: int32 @ grid[1], ahead: int32 @ grid[1], back: int32 @ grid[1], scale: float32 @ grid[1],
    batch_stride: int64 @ grid[1], head_stride: int64 @ grid[1], row_stride: int64 @ grid[1],
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
    with (
        partition(o, block[1], races="allow") as out,
        partition(lse, block[1], races="allow") as logs,
        group(block[1]),
    ):
        q_tile: shared(T[CUT.rows, CUT.dim], ring=1, swizzle=128)
        k_tile: shared(T[CUT.keys, CUT.dim], ring=CUT.stages, swizzle=128)
        v_tile: shared(T[CUT.keys, CUT.dim_v], ring=CUT.stages, swizzle=128)
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
        consumers, loader = roles(warpgroup, CUT.groups, 1)
        if CUT.registers > 0:
            with loader:
                set_registers(CUT.loader_registers)
            with consumers:
                set_registers(CUT.registers)
        for tile in range(b, tiles, blocks):
            # The longest first, where causal: the last rows of all heads.
            head: int32 @ block[1] = tile % heads if MASKS.causal else tile / tall % heads
            batch: int32 @ block[1] = tile / heads % batches if MASKS.causal else tile / tall / heads
            top: int32 @ block[1] = (tall - 1 - tile / heads / batches if MASKS.causal else tile % tall) * CUT.rows
            seen: int32 @ block[1] = min(keys, top + ahead + 1) if MASKS.causal else keys  # by all rows
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
                    with turns(consumers):
                        with claim(k_tile, consumers, in_flight=1) as k_now, group(warpgroup[1]):
                            if j < end:
                                wgmma(scores, q_now[64 * w, 0], k_now, accumulate=False)
                        with claim(v_tile, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                            if j > begin:
                                wgmma(sums, weights, v_now, transpose_b=True)
                    with consumers:
                        if j < end:
                            with group(warpgroup[1]):
                                if j + CUT.keys > seen:
                                    mask(scores, low, high, j)
                                elif MASKS.window and j < top - back + CUT.rows - 1:
                                    mask(scores, low, high, j)
                                weigh(scores, largest, total, factor, scale)
                            with group(thread[1]):
                                for i in range(count(sums)):
                                    sums[i] *= factor[i / 2 % 2]
                                for i in range(count(weights)):
                                    weights[i] = T(scores[i])
            with (
                partition(out, thread[1], lambda r, c: batch * batch_stride + head * head_stride + r * row_stride + c, races="allow") as mine,
                partition(logs, thread[1], lambda r: (int64(batch) * heads + head) * rows + r, races="allow") as own,
                consumers,
            ):
                for h in range(2):
                    for s in range(2):
                        total[h] += shuffle_xor(total[h], 1 << s)
                with group(thread[1]):
                    for h in range(2):
                        factor[h] = 1 / total[h] if total[h] > 0 else 0
                        r: int32 = top + 64 * w + row(scores, 2 * h)
                        if MASKS.lse:
                            if r < rows and lane % 4 == 0:
                                own[r] = (largest[h] + log2(total[h])) * 0.6931471805599453
                    for i in range(0, count(sums), 2):
                        r: int32 = top + 64 * w + row(sums, i)
                        pair: vector(T, 2)
                        for e in range(2):
                            pair[e] = T(sums[i + e] * factor[i / 2 % 2])
                        if r < rows:
                            store_vector(mine[r, column(sums, i)], pair)


EXAMPLES = {"attend": {"T": "float16", "CUT": Cut(128, 128, 128), "MASKS": Masks()}}
