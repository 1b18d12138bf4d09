"""The backward of attention: scores are made anew, tile by tile, and with them gradients of queries, keys and values.

A block has a tile of keys and of values, and goes over tiles of queries. All is transposed: rows of a warpgroup's scores are
keys, so that weights and gradients of scores are operands, in registers, of the products that give dV and dK. Sums of dQ are over
blocks: each adds its own part to sums in global memory, which lie as registers do. `prepare` clears them, `finish` rounds them.
Or a launch of its own makes dQ, from scores that it makes once more: then the same call gives the same bits.
"""

from __future__ import annotations

import math

from prism.kernels.attention.backward_cut import BackwardCut
from prism.kernels.attention.backward_parts import multiply_slopes, put, round_pairs, weigh
from prism.kernels.attention.backward_place import Lot, Sight, find_lot, sight_of
from prism.kernels.attention.cut import Terms
from prism.kernels.attention.softmax import LOG2_E, pack
from prism.kernels.hgemm.main_loop import share_registers
from prism.lang import (
    CUtensorMap, attr, block, bulk_load, bulk_reduce, claim, const, constexpr, count, dtype, float4, float4_cast,
    float32, fragment, grid, group, id, int32, int64, load_vector, one, partition, prism, ptr, requires, roles, row,
    shared, shuffle_xor, stmatrix, template, thread, tma_load, tma_store, uint32, vector, warp, warpgroup, wgmma,
)  # fmt: skip

WIDTH = 8
"""Elements of 16 bits that a thread of `prepare` reads at once."""


@prism.kernel
@template(T=dtype, INDEX=dtype, CUT=constexpr(BackwardCut), ADDED=constexpr(bool), PACKED=constexpr(bool))
@requires(grid[1], block[1], thread[128])
@attr("__launch_bounds__(128)")
def prepare(
    out: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v)) @ grid[1],
    dout: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v)) @ grid[1],
    lse: ptr(const(float32)) @ grid[1], of_rows: ptr(float32) @ grid[1], dq_sums: ptr(float32) @ grid[1], heads: int32 @ grid[1],
    rows: int32 @ grid[1], offsets: ptr(const(INDEX)) @ grid[1], sequences: int32 @ grid[1],
):
    """Of each row the logarithm of its sum, to base 2, and `sum(dout * out)`; where `ADDED`, zeros where dQ is added up.

    Perspective: grid, a block for each tile of `CUT.rows` rows of each head.
    Shapes:      `out`, `dout`: batches x heads x rows x `CUT.dim_v`; `lse`: batches x heads x rows. `of_rows`: a tile's
                 logarithms, then its sums; `dq_sums`: `CUT.rows * CUT.dim` for each tile. A row that sees no column, and one
                 beyond the last, has 0. Where `PACKED`, `rows` are those of all `sequences`; `lse`: heads x rows.
    Source:      Dao, "FlashAttention-2", algorithm 2.
    Test:        tests/kernels/test_attention_backward.py
    """
    b: int32 @ block[1] = id()
    with (
        partition(of_rows, block[1], lambda i: int64(b) * (2 * CUT.rows) + i) as found,
        partition(dq_sums, block[1], lambda i: int64(b) * (CUT.rows * CUT.dim) + i) as sums, group(block[1]),
    ):  # fmt: skip
        out_tile: shared(T[CUT.rows, CUT.dim_v], ring=1)
        dout_tile: shared(T[CUT.rows, CUT.dim_v], ring=1)
        t: int32 @ thread[1] = id()
        at: Lot @ block[1] = find_lot(
            b, offsets, offsets, offsets, sequences, heads, rows, rows, heads, rows, PACKED=PACKED, SIZE=CUT.rows, ROWS=CUT.rows,
            THREADS=128,
        )  # fmt: skip
        above: int32 @ block[1] = rows - at.length
        log: int64 @ block[1] = int64(at.head) * rows + at.end - at.length if PACKED else int64(at.end * heads + at.head) * rows
        with claim(out_tile, thread[1]) as out_in, claim(dout_tile, thread[1]) as dout_in, one(thread):
            if not PACKED or at.length > 0:
                tma_load(out_in, out[at.end, at.head, above + at.top, 0])
                tma_load(dout_in, dout[at.end, at.head, above + at.top, 0])
        if ADDED:
            with partition(sums, thread[1], lambda i: 4 * t + i) as mine, group(thread[1]):
                for i in range(0, CUT.rows * CUT.dim, 512):
                    float4_cast[mine[i]] = float4()
        with (
            partition(found, thread[1], lambda i, r: i * CUT.rows + t // 4 + r, races="allow") as mine,
            partition(out_tile, block[1]) as out_now, partition(dout_tile, block[1]) as dout_now, group(warp[1]),
        ):  # fmt: skip
            if not PACKED or at.length > 0:
                for r in range(0, CUT.rows, 32):
                    total: float32 @ thread[1] = 0
                    with group(thread[1]):
                        if t // 4 + r < CUT.rows:
                            for c in range(0, CUT.dim_v, 4 * WIDTH):
                                x: vector(T, WIDTH) = load_vector(out_now[t // 4 + r, c + t % 4 * WIDTH], WIDTH)
                                y: vector(T, WIDTH) = load_vector(dout_now[t // 4 + r, c + t % 4 * WIDTH], WIDTH)
                                for e in range(WIDTH):
                                    total += float32(x[e]) * float32(y[e])
                    for s in range(2):
                        total += shuffle_xor(total, 1 << s)
                    with group(thread[1]):
                        if t // 4 + r < CUT.rows and t % 4 == 0:
                            sum: float32 = 0
                            if at.top + t // 4 + r < at.length:
                                sum = lse[log + at.top + t // 4 + r] * LOG2_E
                            mine[0, r] = sum if sum > -math.inf else 0
                            mine[1, r] = total


@prism.kernel
@template(
    T=dtype, INDEX=dtype, CUT=constexpr(BackwardCut), TERMS=constexpr(Terms), ADDED=constexpr(bool), MASKED=constexpr(bool),
    OF_KEYS=constexpr(bool), OF_VALUES=constexpr(bool),
)  # fmt: skip
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def change_keys(
    q: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=128)) @ grid[1],
    k: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim_v, swizzle=128)) @ grid[1],
    dout: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v, swizzle=128)) @ grid[1],
    dk: CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128) @ grid[1],
    dv: CUtensorMap(T, 1, 1, CUT.keys, CUT.dim_v, swizzle=128) @ grid[1], of_rows: ptr(const(float32)) @ grid[1],
    dq_sums: ptr(float32) @ grid[1], heads: int32 @ grid[1], share: int32 @ grid[1], rows: int32 @ grid[1], keys: int32 @ grid[1],
    ahead: int32 @ grid[1], back: int32 @ grid[1], scale: float32 @ grid[1], cap: float32 @ grid[1],
    offsets: ptr(const(INDEX)) @ grid[1], key_offsets: ptr(const(INDEX)) @ grid[1], sequences: int32 @ grid[1],
):
    """Gradients of keys and values of attention, of which `dout` is that of the result; where `ADDED`, parts of those of queries.

    Perspective: grid, a block for each tile of `CUT.keys` keys of each of the heads of keys.
    Shapes:      `q`, `dout`: batches x heads x rows x `CUT.dim`, `CUT.dim_v`; `k`, `dk`, `v`, `dv`: batches x (heads / share)
                 x keys. `of_rows`, `dq_sums`: what `prepare` made. Row r sees columns up to r + `ahead` where `TERMS.causal`,
                 and from r - `back` on where `TERMS.window`; scores are bounded by `cap` where `TERMS.cap`. `dk` is made where
                 `OF_KEYS`, `dv` where `OF_VALUES`; `ADDED` is only where both are. Where not `MASKED` all rows see all keys, and
                 `keys` is a multiple of `CUT.keys`. Where `TERMS.packed`, `rows` and `keys` are those of `sequences`, which
                 offsets tell apart; `ahead` and `back` as of `attend` (forward.py).
    Numerics:    products are exact and added in float32; weights, and gradients of scores, are rounded to `T`. Parts of dQ are
                 added in no fixed order, all else in one that depends on shapes alone.
    Source:      Dao, "FlashAttention-2"; Shah et al., "FlashAttention-3".
    Test:        tests/kernels/test_attention_backward.py
    """
    b: int32 @ block[1] = id()
    with group(block[1]):
        k_tile: shared(T[CUT.keys, CUT.dim], ring=1, swizzle=128)
        v_tile: shared(T[CUT.keys, CUT.dim_v], ring=1, swizzle=128)
        q_tile: shared(T[CUT.rows, CUT.dim], ring=CUT.stages, swizzle=128)
        dout_tile: shared(T[CUT.rows, CUT.dim_v], ring=CUT.stages, swizzle=128)
        rows_tile: shared(float32[2, CUT.rows], ring=CUT.stages)
        slopes_tile: shared(T[CUT.keys, CUT.rows], ring=2, swizzle=CUT.span)
        slab: shared(float32[CUT.groups * CUT.part], ring=1)
        at: Lot @ block[1] = find_lot(
            b, key_offsets, offsets, offsets, sequences, heads // share, keys, rows, heads, rows, PACKED=TERMS.packed,
            SIZE=CUT.keys, ROWS=CUT.rows, THREADS=CUT.threads,
        )  # fmt: skip
        scores: fragment(float32, 64, CUT.rows) @ warpgroup[1] = 0
        steps: fragment(float32, 64, CUT.rows) @ warpgroup[1] = 0
        weights: fragment(T, 64, CUT.rows) @ warpgroup[1] = 0
        slopes: fragment(T, 64, CUT.rows) @ warpgroup[1] = 0
        part: fragment(float32, 64, CUT.part_rows) @ warpgroup[1] = 0
        dk_sums: fragment(float32, 64, CUT.dim) @ warpgroup[1] = 0
        dv_sums: fragment(float32, 64, CUT.dim_v) @ warpgroup[1] = 0
        low: int32[2] @ thread[1]
        high: int32[2] @ thread[1]
        w: int32 @ warpgroup[1] = id()
        strip: int32 @ warp[1] = 16 * id()
        t: int32 @ thread[1] = id() % 128
        lane: int32 @ thread[1] = id() % 32
        left: int32 @ block[1] = at.top
        first: int32 @ block[1] = keys - at.length + left
        above: int32 @ block[1] = rows - at.others
        apart: int32 @ block[1] = at.length - at.others if TERMS.last else 0
        see: Sight @ block[1] = sight_of(at, ahead, back, apart, CUT=CUT, TERMS=TERMS)
        workers, helpers = roles(warpgroup, CUT.groups, 1)
        consumers, loader, storer = roles(warp, 4 * CUT.groups, 1, 1)
        share_registers(workers, helpers, MANY=CUT.registers, FEW=CUT.loader_registers)

        @requires(thread[1])
        def begin_rows():
            """Which rows see the thread's two keys."""
            for h in range(2):
                c: int32 = left + 64 * w + row(scores, 2 * h)
                low[h] = (c - ahead - apart if TERMS.causal else 0) if c < at.length else at.others + CUT.rows
                high[h] = c + back - apart + 1 if TERMS.window else at.others + CUT.rows

        @requires(block[1], thread["CUT.threads"])
        def bring(head: int32 @ block[1], j: int32 @ block[1], tile: int32 @ block[1]):
            """Load queries of a head from row j on, what is theirs of the result's gradient, and `tile` of their sums."""
            # One wait for all three: ptxas 13.0 wants none between products of one fence.
            with claim(q_tile, loader) as q_in, claim(dout_tile, loader) as dout_in, claim(rows_tile, loader) as rows_in:
                with one(thread):
                    tma_load(q_in, q[at.others_end, head, above + j, 0])
                    tma_load(dout_in, dout[at.others_end, head, above + j, 0])
                    bulk_load(rows_in, of_rows[int64(tile) * (2 * CUT.rows)])

        @requires(block[1], thread["CUT.threads"])
        def bring_keys():
            """Load the block's own keys and values."""
            with claim(k_tile, loader) as k_in, claim(v_tile, loader) as v_in, one(thread):
                if not TERMS.packed or at.length > 0:
                    tma_load(k_in, k[at.end, at.head, first, 0])
                    tma_load(v_in, v[at.end, at.head, first, 0])

        @requires(block[1], thread["CUT.threads"])
        def store_gradients():
            """Store the tiles of keys and values, where their gradients are by now."""
            with claim(k_tile, storer) as done_k, claim(v_tile, storer) as done_v, one(thread):
                if not TERMS.packed or at.length > 0:
                    if OF_KEYS:
                        tma_store(dk[at.end, at.head, first, 0], done_k)
                    if OF_VALUES:
                        tma_store(dv[at.end, at.head, first, 0], done_v)

        bring_keys()
        with consumers, group(thread[1]):
            begin_rows()
        with claim(k_tile, consumers) as k_now, claim(v_tile, consumers) as v_now:

            @requires(block[1], thread["CUT.threads"])
            def go_over_rows(tile: int32 @ block[1], head: int32 @ block[1]):
                """Add up gradients over a head's queries, whose first tile of rows is `tile`."""
                for j in range(see.begin, see.end, CUT.rows):
                    bring(head, j, tile + j // CUT.rows)
                    with (
                        claim(q_tile, consumers) as q_now, claim(dout_tile, consumers) as dout_now,
                        claim(rows_tile, consumers) as rows_now,
                    ):  # fmt: skip
                        with consumers, group(warpgroup[1]):
                            wgmma(scores, k_now[64 * w, 0], q_now, accumulate=False)
                            if OF_KEYS:
                                wgmma(steps, v_now[64 * w, 0], dout_now, accumulate=False)
                        with consumers, group(warpgroup[1]):
                            weigh(
                                scores, steps, slopes, rows_now, low, high, see, j, scale, cap, CUT=CUT, TERMS=TERMS,
                                MASKED=MASKED, OF_KEYS=OF_KEYS,
                            )  # fmt: skip
                            if OF_VALUES:  # after gradients of scores: fewer registers are in use at once
                                round_pairs(weights, scores)
                                wgmma(dv_sums, weights, dout_now, transpose_b=True)
                        if ADDED:
                            with claim(slopes_tile, consumers, in_flight=1) as slopes_now:
                                multiply_slopes(part, slopes, k_now, slopes_now, w, strip, lane, CUT=CUT)
                            # Parts of dQ leave while keys' gradients are added up.
                            with claim(slab, consumers) as to_slab:
                                with group(warpgroup[1]):
                                    wgmma(dk_sums, slopes, q_now, transpose_b=True)
                                with (
                                    partition(to_slab, thread[1], lambda i: w * CUT.part + i * 128 + 4 * t) as own,
                                    group(thread[1]),
                                ):
                                    for i in range(0, count(part), 4):
                                        float4_cast[own[i]] = float4(part[i], part[i + 1], part[i + 2], part[i + 3])
                            with claim(slab, storer) as done, one(thread):
                                bulk_reduce(dq_sums[int64(tile + j // CUT.rows) * (CUT.rows * CUT.dim)], done)
                        elif OF_KEYS:
                            with consumers, group(warpgroup[1]):
                                wgmma(dk_sums, slopes, q_now, transpose_b=True)

            for g in range(share):
                go_over_rows(at.row + (at.head * share + g) * at.row_tiles, at.head * share + g)
            if OF_VALUES:
                with consumers, partition(v_now, warpgroup[1], lambda r, c: (64 * w + r, c)) as own, group(warpgroup[1]):
                    put(own, dv_sums, 1.0)
            if OF_KEYS:
                with consumers, partition(k_now, warpgroup[1], lambda r, c: (64 * w + r, c)) as own, group(warpgroup[1]):
                    put(own, dk_sums, scale)
        store_gradients()


@prism.kernel
@template(T=dtype, INDEX=dtype, CUT=constexpr(BackwardCut), PACKED=constexpr(bool))
@requires(grid[1], block[1], thread["128 * CUT.groups"])
@attr("__launch_bounds__(128 * CUT.groups)")
def finish(
    dq_sums: ptr(const(float32)) @ grid[1], dq: CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=128) @ grid[1],
    heads: int32 @ grid[1], rows: int32 @ grid[1], scale: float32 @ grid[1], offsets: ptr(const(INDEX)) @ grid[1],
    sequences: int32 @ grid[1],
):
    """`dq = scale * dq_sums`, whose tiles lie as registers do.

    Perspective: grid, a block for each tile of `CUT.rows` rows of each head.
    Shapes:      `dq_sums`: as `change_keys` leaves it; `dq`: batches x heads x rows x `CUT.dim`. Where `PACKED`: as `prepare`.
    Test:        tests/kernels/test_attention_backward.py
    """
    b: int32 @ block[1] = id()
    with group(block[1]):
        at: Lot @ block[1] = find_lot(
            b, offsets, offsets, offsets, sequences, heads, rows, rows, heads, rows, PACKED=PACKED, SIZE=CUT.rows, ROWS=CUT.rows,
            THREADS=128 * CUT.groups,
        )  # fmt: skip
        tile: shared(T[CUT.rows, CUT.dim], swizzle=128)
        part: fragment(float32, 64, CUT.part_rows) @ warpgroup[1] = 0
        w: int32 @ warpgroup[1] = id()
        t: int32 @ thread[1] = id() % 128
        strip: int32 @ warp[1] = id() % 4 * 16 + 64 * (w % CUT.across)  # the warp's first column
        above: int32 @ warp[1] = CUT.part_rows * (w // CUT.across)
        r_: int32 @ thread[1] = t // 16 % 2 * 8 + t % 8
        c_: int32 @ thread[1] = t // 8 % 2 * 8
        first: int64 @ thread[1] = int64(b) * (CUT.rows * CUT.dim) + w * CUT.part + 4 * t
        with group(thread[1]):
            for i in range(0, count(part), 4):
                four: float4 = float4_cast(dq_sums[first + 128 * i])
                for e in range(4):
                    part[i + e] = scale * four[e]
        with partition(tile, warp[1], lambda r, c: (above + r, strip + c)) as own, group(warp[1]):
            for p in range(CUT.part_rows // 16):
                words: uint32[4] @ thread[1]
                with group(thread[1]):
                    for e in range(4):
                        i: int32 = 8 * p + 2 * e
                        words[e] = pack(part[i], part[i + 1], T=T)
                stmatrix(own[16 * p + r_, c_], words, trans=True)
        with one(thread):
            if not PACKED or at.length > 0:
                tma_store(dq[at.end, at.head, rows - at.length + at.top, 0], tile)


_CUT = BackwardCut(128, 128)
EXAMPLES = {
    "prepare": {"T": "float16", "INDEX": "int32", "CUT": _CUT, "ADDED": True, "PACKED": False},
    "change_keys": {
        "T": "float16", "INDEX": "int32", "CUT": _CUT, "TERMS": Terms(), "ADDED": True, "MASKED": True,
        "OF_KEYS": True, "OF_VALUES": True,
    },
    "finish": {"T": "float16", "INDEX": "int32", "CUT": _CUT, "PACKED": False},
}
