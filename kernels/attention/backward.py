"""The backward of attention: scores are made anew, tile by tile, and with them gradients of queries, keys and values.

A block has a tile of keys and of values, and goes over tiles of queries. All is transposed: rows of a warpgroup's scores are
keys, so that weights and gradients of scores are operands, in registers, of the products that give dV and dK. Sums of dQ are over
blocks: each adds its own part to sums in global memory, which lie as registers do. `prepare` clears them, `finish` rounds them.
Or a launch of its own makes dQ, from scores that it makes once more: then the same call gives the same bits.
"""

from __future__ import annotations

import math

from prism.kernels.attention.backward_cut import BackwardCut
from prism.kernels.attention.softmax import LOG2_E, pack
from prism.lang import (
    CUtensorMap, attr, bitcast, block, bulk_load, bulk_reduce, claim, column, const, constexpr, count, dtype, fast_exp2_flush,
    float4, float4_cast, float32, fragment, grid, group, id, int32, int64, load_vector, one, partition, prism, ptr, requires,
    roles, row, set_registers, shared, shuffle_xor, stmatrix, template, thread, tma_load, tma_store, uint32, vector, warp,
    warpgroup, wgmma,
)  # fmt: skip

WIDTH = 8
"""Elements of 16 bits that a thread of `prepare` reads at once."""


@prism("global")
@template(T=dtype, CUT=constexpr(BackwardCut), ADDED=constexpr(bool))
@requires(grid[1], block[1], thread[128])
@attr("__launch_bounds__(128)")
def prepare(
    out: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v)) @ grid[1],
    dout: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v)) @ grid[1],
    lse: ptr(const(float32)) @ grid[1], of_rows: ptr(float32) @ grid[1], dq_sums: ptr(float32) @ grid[1], heads: int32 @ grid[1],
    rows: int32 @ grid[1],
):
    """Of each row the logarithm of its sum, to base 2, and `sum(dout * out)`; where `ADDED`, zeros where dQ is added up.

    Perspective: grid, a block for each tile of `CUT.rows` rows of each head.
    Shapes:      `out`, `dout`: batches x heads x rows x `CUT.dim_v`; `lse`: batches x heads x rows. `of_rows`: a tile's
                 logarithms, then its sums; `dq_sums`: `CUT.rows * CUT.dim` for each tile. A row that sees no column, and one
                 beyond the last, has 0.
    Source:      Dao, "FlashAttention-2", algorithm 2.
    Test:        tests/kernels/test_attention_backward.py
    """
    row_tiles: int32 @ grid[1] = (rows + (CUT.rows - 1)) / CUT.rows
    b: int32 @ block[1] = id()
    head: int32 @ block[1] = b / row_tiles
    top: int32 @ block[1] = b % row_tiles * CUT.rows
    with (
        partition(of_rows, block[1], lambda i: int64(b) * (2 * CUT.rows) + i) as found,
        partition(dq_sums, block[1], lambda i: int64(b) * (CUT.rows * CUT.dim) + i) as sums, group(block[1]),
    ):  # fmt: skip
        out_tile: shared(T[CUT.rows, CUT.dim_v], ring=1)
        dout_tile: shared(T[CUT.rows, CUT.dim_v], ring=1)
        t: int32 @ thread[1] = id()
        with claim(out_tile, thread[1]) as out_in, claim(dout_tile, thread[1]) as dout_in, one(thread):
            tma_load(out_in, out[head / heads, head % heads, top, 0])
            tma_load(dout_in, dout[head / heads, head % heads, top, 0])
        if ADDED:
            with partition(sums, thread[1], lambda i: 4 * t + i) as mine, group(thread[1]):
                for i in range(0, CUT.rows * CUT.dim, 512):
                    float4_cast[mine[i]] = float4()
        with (
            partition(found, thread[1], lambda i, r: i * CUT.rows + t / 4 + r, races="allow") as mine,
            partition(out_tile, block[1]) as out_now, partition(dout_tile, block[1]) as dout_now, group(warp[1]),
        ):  # fmt: skip
            for r in range(0, CUT.rows, 32):
                total: float32 @ thread[1] = 0
                with group(thread[1]):
                    if t / 4 + r < CUT.rows:
                        for c in range(0, CUT.dim_v, 4 * WIDTH):
                            x: vector(T, WIDTH) = load_vector(out_now[t / 4 + r, c + t % 4 * WIDTH], WIDTH)
                            y: vector(T, WIDTH) = load_vector(dout_now[t / 4 + r, c + t % 4 * WIDTH], WIDTH)
                            for e in range(WIDTH):
                                total += float32(x[e]) * float32(y[e])
                for s in range(2):
                    total += shuffle_xor(total, 1 << s)
                with group(thread[1]):
                    if t / 4 + r < CUT.rows and t % 4 == 0:
                        sum: float32 = 0
                        if top + t / 4 + r < rows:
                            sum = lse[int64(head) * rows + top + t / 4 + r] * LOG2_E
                        mine[0, r] = sum if sum > -math.inf else 0
                        mine[1, r] = total


@prism("device")
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
        for p in range(COLUMNS / 16):
            words: uint32[4] @ thread[1]
            with group(thread[1]):
                for e in range(4):
                    words[e] = pack(factor * sums[8 * p + 2 * e], factor * sums[8 * p + 2 * e + 1], T=T)
            stmatrix(own[lane % 16, 16 * p + lane / 16 * 8], words)


@prism("global")
@template(T=dtype, CUT=constexpr(BackwardCut), CAUSAL=constexpr(bool), ADDED=constexpr(bool))
@requires(grid[1], block[1], thread[CUT.threads])
@attr("__launch_bounds__(CUT.threads, 1)")
def change_keys(
    q: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=128)) @ grid[1],
    k: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim_v, swizzle=128)) @ grid[1],
    dout: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v, swizzle=128)) @ grid[1],
    dk: CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128) @ grid[1],
    dv: CUtensorMap(T, 1, 1, CUT.keys, CUT.dim_v, swizzle=128) @ grid[1], of_rows: ptr(const(float32)) @ grid[1],
    dq_sums: ptr(float32) @ grid[1], heads: int32 @ grid[1], share: int32 @ grid[1], rows: int32 @ grid[1], keys: int32 @ grid[1],
    ahead: int32 @ grid[1], scale: float32 @ grid[1],
):
    """Gradients of keys and values of attention, of which `dout` is that of the result; where `ADDED`, parts of those of queries.

    Perspective: grid, a block for each tile of `CUT.keys` keys of each of the heads of keys.
    Shapes:      `q`, `dout`: batches x heads x rows x `CUT.dim`, `CUT.dim_v`; `k`, `dk`, `v`, `dv`: batches x (heads / share)
                 x keys. `of_rows`, `dq_sums`: what `prepare` made. Row r sees columns up to r + `ahead` where `CAUSAL`.
    Numerics:    products are exact and added in float32; weights, and gradients of scores, are rounded to `T`. Parts of dQ are
                 added in no fixed order, all else in one that depends on shapes alone.
    Source:      Dao, "FlashAttention-2"; Shah et al., "FlashAttention-3".
    Test:        tests/kernels/test_attention_backward.py
    """
    key_tiles: int32 @ grid[1] = (keys + (CUT.keys - 1)) / CUT.keys
    row_tiles: int32 @ grid[1] = (rows + (CUT.rows - 1)) / CUT.rows
    b: int32 @ block[1] = id()
    head: int32 @ block[1] = b / key_tiles % (heads / share)
    batch: int32 @ block[1] = b / key_tiles / (heads / share)
    left: int32 @ block[1] = b % key_tiles * CUT.keys
    begin: int32 @ block[1] = max(0, left - ahead) / CUT.rows * CUT.rows if CAUSAL else 0
    # Up to where rows of queries don't see all of the tile: none does, of a tile that ends beyond the last key.
    masked: int32 @ block[1] = rows if left + CUT.keys > keys else left + CUT.keys - 1 - ahead if CAUSAL else 0
    with group(block[1]):
        k_tile: shared(T[CUT.keys, CUT.dim], ring=1, swizzle=128)
        v_tile: shared(T[CUT.keys, CUT.dim_v], ring=1, swizzle=128)
        q_tile: shared(T[CUT.rows, CUT.dim], ring=CUT.stages, swizzle=128)
        dout_tile: shared(T[CUT.rows, CUT.dim_v], ring=CUT.stages, swizzle=128)
        rows_tile: shared(float32[2, CUT.rows], ring=CUT.stages)
        slopes_tile: shared(T[CUT.keys, CUT.rows], ring=1, swizzle=CUT.span)
        slab: shared(float32[CUT.groups * CUT.part], ring=1)
        scores: fragment(float32, 64, CUT.rows) @ warpgroup[1] = 0
        steps: fragment(float32, 64, CUT.rows) @ warpgroup[1] = 0
        weights: fragment(T, 64, CUT.rows) @ warpgroup[1] = 0
        slopes: fragment(T, 64, CUT.rows) @ warpgroup[1] = 0
        part: fragment(float32, 64, CUT.part_rows) @ warpgroup[1] = 0
        dk_sums: fragment(float32, 64, CUT.dim) @ warpgroup[1] = 0
        dv_sums: fragment(float32, 64, CUT.dim_v) @ warpgroup[1] = 0
        first: int32[2] @ thread[1]
        w: int32 @ warpgroup[1] = id()
        strip: int32 @ warp[1] = 16 * id()
        t: int32 @ thread[1] = id() % 128
        lane: int32 @ thread[1] = id() % 32
        workers, helpers = roles(warpgroup, CUT.groups, 1)
        consumers, loader, storer = roles(warp, 4 * CUT.groups, 1, 1)
        if CUT.registers > 0:
            with helpers:
                set_registers(CUT.loader_registers)
            with workers:
                set_registers(CUT.registers)
        with claim(k_tile, loader) as k_in, claim(v_tile, loader) as v_in, one(thread):
            tma_load(k_in, k[batch, head, left, 0])
            tma_load(v_in, v[batch, head, left, 0])
        with consumers, group(thread[1]):
            for h in range(2):  # the first row that sees each of the thread's two keys
                c: int32 = left + 64 * w + row(scores, 2 * h)
                first[h] = (c - ahead if CAUSAL else 0) if c < keys else rows + CUT.rows
        with claim(k_tile, consumers) as k_now, claim(v_tile, consumers) as v_now:
            for g in range(share):
                tiles: int32 @ block[1] = (batch * heads + head * share + g) * row_tiles
                for j in range(begin, rows, CUT.rows):
                    # One wait for all three: ptxas 13.0 wants none between products of one fence.
                    with (
                        claim(q_tile, loader) as q_in, claim(dout_tile, loader) as dout_in, claim(rows_tile, loader) as rows_in,
                        one(thread),
                    ):  # fmt: skip
                        tma_load(q_in, q[batch, head * share + g, j, 0])
                        tma_load(dout_in, dout[batch, head * share + g, j, 0])
                        bulk_load(rows_in, of_rows[int64(tiles + j / CUT.rows) * (2 * CUT.rows)])
                    with (
                        claim(q_tile, consumers, in_flight=1 if ADDED else 0) as q_now,
                        claim(dout_tile, consumers, in_flight=1 if ADDED else 0) as dout_now,
                        claim(rows_tile, consumers) as rows_now, claim(slopes_tile, consumers) as slopes_now,
                    ):  # fmt: skip
                        with group(warpgroup[1]):
                            wgmma(scores, k_now[64 * w, 0], q_now, accumulate=False)
                            wgmma(steps, v_now[64 * w, 0], dout_now, accumulate=False)
                            with group(thread[1]):
                                if j < masked:
                                    for i in range(count(scores)):
                                        scores[i] = scores[i] if j + column(scores, i) >= first[i / 2 % 2] else -math.inf
                                for i in range(count(scores)):
                                    scores[i] = fast_exp2_flush(scale * LOG2_E * scores[i] - rows_now[0, column(scores, i)])
                                    weights[i] = T(scores[i])
                            wgmma(dv_sums, weights, dout_now, transpose_b=True)
                            with group(thread[1]):
                                for i in range(count(steps)):
                                    slopes[i] = T(scores[i] * (steps[i] - rows_now[1, column(steps, i)]))
                            wgmma(dk_sums, slopes, q_now, transpose_b=True)
                        if ADDED:
                            with partition(slopes_now, warp[1], lambda r, c: (strip + r, c)) as own, group(warp[1]):
                                for p in range(CUT.rows / 16):
                                    words: uint32[4] @ thread[1]
                                    with group(thread[1]):
                                        for e in range(4):
                                            i: int32 = 8 * p + 2 * e
                                            words[e] = bitcast(vector(T, 2)(slopes[i], slopes[i + 1]), uint32)
                                    stmatrix(own[lane % 16, 16 * p + lane / 16 * 8], words)
                            with group(warpgroup[1]):
                                with group(thread[1]):  # so that a fence stands here
                                    for i in range(count(part)):
                                        part[i] = 0
                                # Transposed, too: rows are columns of dQ.
                                wgmma(
                                    part, k_now[0, 64 * (w % CUT.across)], slopes_now[0, CUT.part_rows * (w / CUT.across)],
                                    transpose_a=True, transpose_b=True,
                                )  # fmt: skip
                    if ADDED:
                        with (
                            claim(slab, consumers) as to_slab,
                            partition(to_slab, thread[1], lambda i: w * CUT.part + i * 128 + 4 * t) as own, group(thread[1]),
                        ):  # fmt: skip
                            for i in range(0, count(part), 4):
                                float4_cast[own[i]] = float4(part[i], part[i + 1], part[i + 2], part[i + 3])
                        with claim(slab, storer) as done, one(thread):
                            bulk_reduce(dq_sums[int64(tiles + j / CUT.rows) * (CUT.rows * CUT.dim)], done)
            with consumers, partition(v_now, warpgroup[1], lambda r, c: (64 * w + r, c)) as own, group(warpgroup[1]):
                put(own, dv_sums, 1.0)
            with consumers, partition(k_now, warpgroup[1], lambda r, c: (64 * w + r, c)) as own, group(warpgroup[1]):
                put(own, dk_sums, scale)
        with claim(k_tile, storer) as done_k, claim(v_tile, storer) as done_v, one(thread):
            tma_store(dk[batch, head, left, 0], done_k)
            tma_store(dv[batch, head, left, 0], done_v)


@prism("global")
@template(T=dtype, CUT=constexpr(BackwardCut))
@requires(grid[1], block[1], thread[128 * CUT.groups])
@attr("__launch_bounds__(128 * CUT.groups)")
def finish(
    dq_sums: ptr(const(float32)) @ grid[1], dq: CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=128) @ grid[1],
    heads: int32 @ grid[1], rows: int32 @ grid[1], scale: float32 @ grid[1],
):
    """`dq = scale * dq_sums`, whose tiles lie as registers do.

    Perspective: grid, a block for each tile of `CUT.rows` rows of each head.
    Shapes:      `dq_sums`: as `change_keys` leaves it; `dq`: batches x heads x rows x `CUT.dim`.
    Test:        tests/kernels/test_attention_backward.py
    """
    row_tiles: int32 @ grid[1] = (rows + (CUT.rows - 1)) / CUT.rows
    b: int32 @ block[1] = id()
    head: int32 @ block[1] = b / row_tiles
    with group(block[1]):
        tile: shared(T[CUT.rows, CUT.dim], swizzle=128)
        part: fragment(float32, 64, CUT.part_rows) @ warpgroup[1] = 0
        w: int32 @ warpgroup[1] = id()
        t: int32 @ thread[1] = id() % 128
        strip: int32 @ warp[1] = id() % 4 * 16 + 64 * (w % CUT.across)  # the warp's first column
        above: int32 @ warp[1] = CUT.part_rows * (w / CUT.across)
        r_: int32 @ thread[1] = t / 16 % 2 * 8 + t % 8
        c_: int32 @ thread[1] = t / 8 % 2 * 8
        first: int64 @ thread[1] = int64(b) * (CUT.rows * CUT.dim) + w * CUT.part + 4 * t
        with group(thread[1]):
            for i in range(0, count(part), 4):
                four: float4 = float4_cast(dq_sums[first + 128 * i])
                for e in range(4):
                    part[i + e] = scale * four[e]
        with partition(tile, warp[1], lambda r, c: (above + r, strip + c)) as own, group(warp[1]):
            for p in range(CUT.part_rows / 16):
                words: uint32[4] @ thread[1]
                with group(thread[1]):
                    for e in range(4):
                        i: int32 = 8 * p + 2 * e
                        words[e] = pack(part[i], part[i + 1], T=T)
                stmatrix(own[16 * p + r_, c_], words, trans=True)
        with one(thread):
            tma_store(dq[head / heads, head % heads, b % row_tiles * CUT.rows, 0], tile)


@prism("global")
@template(T=dtype, CUT=constexpr(BackwardCut), CAUSAL=constexpr(bool))
@requires(grid[1], block[1], thread[CUT.threads])
@attr("__launch_bounds__(CUT.threads, 1)")
def change_queries(
    q: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128)) @ grid[1],
    k: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim_v, swizzle=128)) @ grid[1],
    dout: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim_v, swizzle=128)) @ grid[1],
    dq: CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=128) @ grid[1], of_rows: ptr(const(float32)) @ grid[1],
    heads: int32 @ grid[1], share: int32 @ grid[1], rows: int32 @ grid[1], keys: int32 @ grid[1], ahead: int32 @ grid[1],
    scale: float32 @ grid[1],
):
    """Gradients of queries of attention, of which `dout` is that of the result, in an order that depends on shapes alone.

    Perspective: grid, a block for each tile of `CUT.keys` rows of queries of each head, which goes over tiles of `CUT.rows` keys.
    Shapes:      as of `change_keys`; `dq`: as `q`.
    Numerics:    products are exact and added in float32; gradients of scores are rounded to `T`.
    Source:      Dao, "FlashAttention-2".
    Test:        tests/kernels/test_attention_backward.py
    """
    blocks: int32 @ grid[1] = (rows + (CUT.keys - 1)) / CUT.keys
    row_tiles: int32 @ grid[1] = (rows + (CUT.rows - 1)) / CUT.rows
    b: int32 @ block[1] = id()
    pair: int32 @ block[1] = b / blocks
    top: int32 @ block[1] = (blocks - 1 - b % blocks) * CUT.keys
    end: int32 @ block[1] = min(keys, top + ahead + CUT.keys) if CAUSAL else keys
    with group(block[1]):
        q_tile: shared(T[CUT.keys, CUT.dim], ring=1, swizzle=128)
        dout_tile: shared(T[CUT.keys, CUT.dim_v], ring=1, swizzle=128)
        k_tile: shared(T[CUT.rows, CUT.dim], ring=CUT.stages, swizzle=128)
        v_tile: shared(T[CUT.rows, CUT.dim_v], ring=CUT.stages, swizzle=128)
        scores: fragment(float32, 64, CUT.rows) @ warpgroup[1] = 0
        steps: fragment(float32, 64, CUT.rows) @ warpgroup[1] = 0
        slopes: fragment(T, 64, CUT.rows) @ warpgroup[1] = 0
        dq_sums: fragment(float32, 64, CUT.dim) @ warpgroup[1] = 0
        high: int32[2] @ thread[1]
        lse: float32[2] @ thread[1]
        delta: float32[2] @ thread[1]
        w: int32 @ warpgroup[1] = id()
        workers, helpers = roles(warpgroup, CUT.groups, 1)
        consumers, loader, storer = roles(warp, 4 * CUT.groups, 1, 1)
        if CUT.registers > 0:
            with helpers:
                set_registers(CUT.loader_registers)
            with workers:
                set_registers(CUT.registers)
        with claim(q_tile, loader) as q_in, claim(dout_tile, loader) as dout_in, one(thread):
            tma_load(q_in, q[pair / heads, pair % heads, top, 0])
            tma_load(dout_in, dout[pair / heads, pair % heads, top, 0])
        with consumers, group(thread[1]):
            for h in range(2):
                r: int32 = top + 64 * w + row(scores, 2 * h)
                high[h] = min(keys, r + ahead + 1) if CAUSAL else keys
                lse[h] = 0
                delta[h] = 0
                if r < rows:
                    at: int64 = int64(pair * row_tiles + r / CUT.rows) * (2 * CUT.rows) + r % CUT.rows
                    lse[h] = of_rows[at]
                    delta[h] = of_rows[at + CUT.rows]
        with claim(q_tile, consumers) as q_now, claim(dout_tile, consumers) as dout_now:
            for j in range(0, end, CUT.rows):
                with claim(k_tile, loader) as k_in, claim(v_tile, loader) as v_in, one(thread):
                    tma_load(k_in, k[pair / heads, pair % heads / share, j, 0])
                    tma_load(v_in, v[pair / heads, pair % heads / share, j, 0])
                with claim(k_tile, consumers) as k_now, claim(v_tile, consumers) as v_now, group(warpgroup[1]):
                    wgmma(scores, q_now[64 * w, 0], k_now, accumulate=False)
                    wgmma(steps, dout_now[64 * w, 0], v_now, accumulate=False)
                    with group(thread[1]):
                        if j + CUT.rows > end - (CUT.keys - 1 if CAUSAL else 0):
                            for i in range(count(scores)):
                                scores[i] = scores[i] if j + column(scores, i) < high[i / 2 % 2] else -math.inf
                        for i in range(count(scores)):
                            scores[i] = fast_exp2_flush(scale * LOG2_E * scores[i] - lse[i / 2 % 2])
                    with group(thread[1]):
                        for i in range(count(steps)):
                            slopes[i] = T(scores[i] * (steps[i] - delta[i / 2 % 2]))
                    wgmma(dq_sums, slopes, k_now, transpose_b=True)
            with consumers, partition(q_now, warpgroup[1], lambda r, c: (64 * w + r, c)) as own, group(warpgroup[1]):
                put(own, dq_sums, scale)
        with claim(q_tile, storer) as done, one(thread):
            tma_store(dq[pair / heads, pair % heads, top, 0], done)


_CUT = BackwardCut(128, 128)
EXAMPLES = {
    "prepare": {"T": "float16", "CUT": _CUT, "ADDED": True},
    "change_keys": {"T": "float16", "CUT": _CUT, "CAUSAL": False, "ADDED": True},
    "finish": {"T": "float16", "CUT": _CUT},
    "change_queries": {"T": "float16", "CUT": _CUT, "CAUSAL": False},
}
