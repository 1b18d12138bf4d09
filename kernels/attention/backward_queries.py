"""Gradients of attention's queries in an order: a block has a tile of queries, and goes over keys, with scores made once more."""

from __future__ import annotations

from prism.kernels.attention.backward_cut import BackwardCut
from prism.kernels.attention.backward_parts import bound, put, round_pairs
from prism.kernels.attention.backward_place import Lot, find_lot
from prism.kernels.attention.cut import Terms
from prism.kernels.attention.softmax import LOG2_E, mask
from prism.kernels.hgemm.main_loop import share_registers
from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, dtype, fast_exp2_flush, float32, fragment, grid, group, id, int32,
    int64, one, partition, prism, ptr, requires, roles, row, shared, template, thread, tma_load, tma_store, warp,
    warpgroup, wgmma,
)  # fmt: skip


@prism.kernel
@template(T=dtype, INDEX=dtype, CUT=constexpr(BackwardCut), TERMS=constexpr(Terms))
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def change_queries(
    q: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128)) @ grid[1],
    k: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v, swizzle=128)) @ grid[1],
    dout: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim_v, swizzle=128)) @ grid[1],
    dq: CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128) @ grid[1], of_rows: ptr(const(float32)) @ grid[1],
    heads: int32 @ grid[1], share: int32 @ grid[1], rows: int32 @ grid[1], keys: int32 @ grid[1], ahead: int32 @ grid[1],
    back: int32 @ grid[1], scale: float32 @ grid[1], cap: float32 @ grid[1], offsets: ptr(const(INDEX)) @ grid[1],
    key_offsets: ptr(const(INDEX)) @ grid[1], sequences: int32 @ grid[1],
):
    """Gradients of queries of attention, of which `dout` is that of the result, in an order that depends on shapes alone.

    Perspective: grid, a block for each tile of `CUT.keys` rows of queries of each head, which goes over tiles of `CUT.rows` keys.
    Shapes:      as of `change_keys`; `dq`: as `q`.
    Numerics:    products are exact and added in float32; gradients of scores are rounded to `T`.
    Source:      Dao, "FlashAttention-2".
    Test:        tests/kernels/test_attention_backward.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = blocks - 1 - id()  # of a head, those that see the most keys come first
    with group(block[1]):
        q_tile: shared(T[CUT.keys, CUT.dim], ring=1, swizzle=128)
        dout_tile: shared(T[CUT.keys, CUT.dim_v], ring=1, swizzle=128)
        k_tile: shared(T[CUT.rows, CUT.dim], ring=CUT.stages, swizzle=128)
        v_tile: shared(T[CUT.rows, CUT.dim_v], ring=CUT.stages, swizzle=128)
        at: Lot @ block[1] = find_lot(
            b, offsets, key_offsets, offsets, sequences, heads, rows, keys, heads, rows, PACKED=TERMS.packed, SIZE=CUT.keys,
            ROWS=CUT.rows, THREADS=CUT.threads,
        )  # fmt: skip
        scores: fragment(float32, 64, CUT.rows) @ warpgroup[1] = 0
        steps: fragment(float32, 64, CUT.rows) @ warpgroup[1] = 0
        slopes: fragment(T, 64, CUT.rows) @ warpgroup[1] = 0
        dq_sums: fragment(float32, 64, CUT.dim) @ warpgroup[1] = 0
        low: int32[2] @ thread[1]
        high: int32[2] @ thread[1]
        lse: float32[2] @ thread[1]
        delta: float32[2] @ thread[1]
        w: int32 @ warpgroup[1] = id()
        top: int32 @ block[1] = at.top
        first: int32 @ block[1] = rows - at.length + top
        before: int32 @ block[1] = keys - at.others
        apart: int32 @ block[1] = at.others - at.length if TERMS.last else 0
        end: int32 @ block[1] = min(at.others, top + ahead + apart + CUT.keys) if TERMS.causal else at.others
        begin: int32 @ block[1] = max(0, top - back + apart) // CUT.rows * CUT.rows if TERMS.window else 0
        tiles: int32 @ block[1] = at.row + at.head * at.row_tiles
        workers, helpers = roles(warpgroup, CUT.groups, 1)
        consumers, loader, storer = roles(warp, 4 * CUT.groups, 1, 1)
        share_registers(workers, helpers, MANY=CUT.registers, FEW=CUT.loader_registers)
        with claim(q_tile, loader) as q_in, claim(dout_tile, loader) as dout_in, one(thread):
            if not TERMS.packed or at.length > 0:
                tma_load(q_in, q[at.end, at.head, first, 0])
                tma_load(dout_in, dout[at.end, at.head, first, 0])
        with consumers, group(thread[1]):
            for h in range(2):
                r: int32 = top + 64 * w + row(scores, 2 * h)
                low[h] = r - back + apart if TERMS.window else 0
                high[h] = min(at.others, r + ahead + apart + 1) if TERMS.causal else at.others
                lse[h] = 0
                delta[h] = 0
                if r < at.length:
                    of: int64 = int64(tiles + r // CUT.rows) * (2 * CUT.rows) + r % CUT.rows
                    lse[h] = of_rows[of]
                    delta[h] = of_rows[of + CUT.rows]
        with claim(q_tile, consumers) as q_now, claim(dout_tile, consumers) as dout_now:
            for j in range(begin, end, CUT.rows):
                with claim(k_tile, loader) as k_in, claim(v_tile, loader) as v_in, one(thread):
                    tma_load(k_in, k[at.others_end, at.head // share, before + j, 0])
                    tma_load(v_in, v[at.others_end, at.head // share, before + j, 0])
                with claim(k_tile, consumers) as k_now, claim(v_tile, consumers) as v_now, group(warpgroup[1]):
                    wgmma(scores, q_now[64 * w, 0], k_now, accumulate=False)
                    wgmma(steps, dout_now[64 * w, 0], v_now, accumulate=False)
                    if TERMS.cap:
                        with group(thread[1]):
                            for i in range(count(steps)):
                                steps[i] -= delta[i // 2 % 2]
                        bound(scores, steps, scale, cap)
                    if j + CUT.rows > end - (CUT.keys - 1 if TERMS.causal else 0):
                        mask(scores, low, high, j)
                    elif TERMS.window and j < begin + (CUT.keys + CUT.rows):
                        mask(scores, low, high, j)
                    with group(thread[1]):
                        for i in range(count(scores)):
                            score: float32 = scores[i] if TERMS.cap else scale * LOG2_E * scores[i]
                            scores[i] = fast_exp2_flush(score - lse[i // 2 % 2])
                    with group(thread[1]):
                        for i in range(count(steps)):
                            steps[i] = scores[i] * (steps[i] if TERMS.cap else steps[i] - delta[i // 2 % 2])
                    round_pairs(slopes, steps)
                    wgmma(dq_sums, slopes, k_now, transpose_b=True)
            with consumers, partition(q_now, warpgroup[1], lambda r, c: (64 * w + r, c)) as own, group(warpgroup[1]):
                put(own, dq_sums, scale)
        with claim(q_tile, storer) as done, one(thread):
            if not TERMS.packed or at.length > 0:
                tma_store(dq[at.end, at.head, first, 0], done)


EXAMPLES = {"change_queries": {"T": "float16", "INDEX": "int32", "CUT": BackwardCut(128, 128), "TERMS": Terms()}}
