"""Attention of few queries to many keys: decoding. Keys and values are read once, and evenly by all multiprocessors.

The query heads that share a key head are rows of one product. Tiles of keys are numbered through all sequences and heads, and
dealt out in units of tiles that follow one another; what several units have of a head is added up by the one that is done last,
in the order of the keys.
"""

from __future__ import annotations

from prism.kernels.attention.decode_cut import DecodeCut
from prism.kernels.attention.decode_parts import add_up, is_last, keep
from prism.kernels.attention.decode_pieces import clear_rows, count_tiles, find_piece, first_of, gather_rows, unit_of
from prism.kernels.attention.decode_weights import weigh_rows
from prism.kernels.attention.softmax import LEAST, LN_2, mask
from prism.lang import (
    CUtensorMap, attr, block, claim, column, const, constexpr, count, dtype, float32, fragment, grid, group,
    id, int32, int64, log2, one, partition, prefetch_map, prism, ptr, requires, roles, row, shared, shuffle_xor, store_vector,
    template, thread, tma_load, uint32, vector, warp, warpgroup, wgmma,
)  # fmt: skip


@prism("global")
@template(T=dtype, CUT=constexpr(DecodeCut))
@requires(grid[1], block[1], thread[CUT.threads])
@attr("__launch_bounds__(CUT.threads, 1)")
def decode(
    q: const(CUtensorMap(T, 1, 1, 64, CUT.dim, swizzle=128)) @ grid[1],
    k: const(CUtensorMap(T, 1, 1, CUT.box, CUT.dim, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, CUT.box, CUT.dim_v, swizzle=128)) @ grid[1],
    q_rows: ptr(const(T)) @ grid[1], o: ptr(T) @ grid[1], lse: ptr(float32) @ grid[1], partial: ptr(float32) @ grid[1],
    marks: ptr(float32) @ grid[1], counters: ptr(uint32) @ grid[1], tickets: ptr(uint32) @ grid[1], batches: int32 @ grid[1],
    heads: int32 @ grid[1], shared_by: int32 @ grid[1], tokens: int32 @ grid[1], keys: int32 @ grid[1], small: int32 @ grid[1],
    lengths: ptr(const(int32)) @ grid[1], table: ptr(const(int32)) @ grid[1], wide: int32 @ grid[1], pages: int32 @ grid[1],
    wide_q: int32 @ grid[1], columns: int32 @ grid[1], q_batch: int64 @ grid[1], q_head: int64 @ grid[1],
    q_token: int64 @ grid[1], o_batch: int64 @ grid[1], o_head: int64 @ grid[1], o_token: int64 @ grid[1],
    scale: float32 @ grid[1],
):  # fmt: skip
    """`softmax(scale * q @ k.T) @ v` of up to 64 rows of each of `batches` times `heads` heads of keys, which are read once.

    Perspective: grid, of any number of blocks.
    Shapes:      `shared_by` query heads of `tokens` queries each are a head's rows. `q`: batches x heads x shared_by x dim, where
                 there is one token; where `CUT.tokens`, `q_rows` has them, of `wide_q` elements, by strides. `k`, `v`: batches x
                 heads x `keys` x dim; where `CUT.page`, `pages` x heads x `CUT.page` x dim, and `table` has a row of `wide` pages
                 for each sequence. `lengths`: how many keys sequences have, where `CUT.lengths`; else `keys`. Where `CUT.causal`,
                 the last token sees all keys of its sequence, each token before it one less. `o`: `columns` elements a row, of
                 which the strides are given; `lse`: batches x query heads x tokens, where `CUT.lse`. `scale` has the logarithm of
                 e to base 2 as a factor. Blocks have as many tiles each, or, where `small` is not 0, three quarters of all, and
                 the rest is units of `small` tiles, for who comes first. `partial`: `CUT.kept` elements a unit, `marks`: 1024.
                 `counters`: four for each of batches and heads, 0 before and behind. `tickets`: as of `grid.dynamic_tiles`.
    Numerics:    products are exact and added in float32; weights are rounded to `T`. Sums are in an order that depends on the
                 lengths, `small` and the number of blocks alone. A row that sees no key is zero.
    Source:      Dao et al., "Flash-Decoding for long-context inference"; Ye et al., "FlashInfer".
    Test:        tests/kernels/test_attention_decode.py, tests/gpu/test_attention_decode.py
    """
    rows: int32 @ grid[1] = shared_by * tokens
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with (
        partition(o, block[1], lambda i: i, races="allow") as outs, partition(lse, block[1], lambda i: i, races="allow") as logs,
        partition(partial, block[1], lambda i: i, races="allow") as kept,
        partition(marks, block[1], lambda i: i, races="allow") as marked,
        group(block[1]),
    ):
        q_tile: shared(T[64, CUT.dim], ring=2, swizzle=128)
        k_tile: shared(T[CUT.keys, CUT.dim], ring=CUT.stages, swizzle=128)
        v_tile: shared(T[CUT.keys, CUT.dim_v], ring=CUT.stages, swizzle=128)
        words: shared(uint32[128])
        starts: shared(int32[CUT.threads])
        each: int32 @ block[1] = max(1, (keys + (CUT.keys - 1)) / CUT.keys)
        tiles: int32 @ block[1] = each * heads * batches
        if CUT.lengths:
            of_a_head: int32 @ block[1] = count_tiles(lengths, batches, keys, starts, KEYS=CUT.keys)
            tiles = heads * of_a_head
        big: int32 @ block[1] = tiles - tiles / 4 if small > 0 and tiles / 4 >= 2 * blocks * small else tiles
        many: int32 @ block[1] = min(blocks, big)
        units: int32 @ block[1] = unit_of(tiles - 1, big, many, small) + 1
        scores: fragment(float32, 64, CUT.keys) @ warpgroup[1] = 0
        weights: fragment(T, 64, CUT.keys) @ warpgroup[1] = 0
        sums: fragment(float32, 64, CUT.dim_v) @ warpgroup[1] = 0
        largest: float32[2] @ thread[1]
        total: float32[2] @ thread[1]
        factor: float32[2] @ thread[1] = [1, 1]
        low: int32[2] @ thread[1] = [0, 0]
        high: int32[2] @ thread[1]
        t: int32 @ thread[1] = id()
        lane: int32 @ thread[1] = id() % 32
        strip: int32 @ warp[1] = id() % 4
        consumers, loader, filler, scheduler = roles(warp, 4, 1, 1, 1)
        with loader, one(thread):
            prefetch_map(k)
            prefetch_map(v)

        @requires(block[1], thread[CUT.threads])
        def attend_unit(unit: int32 @ block[1]):
            first: int32 @ block[1] = first_of(unit, big, many, small)
            last: int32 @ block[1] = min(tiles, first_of(unit + 1, big, many, small))
            piece: int32 @ block[1] = first / each
            start: int32 @ block[1] = piece * each
            if CUT.lengths:
                piece, start = find_piece(lengths, batches, keys, starts, heads, first, KEYS=CUT.keys)
            while start < last:
                batch: int32 @ block[1] = piece / heads
                head: int32 @ block[1] = piece % heads
                length: int32 @ block[1] = max(0, min(keys, lengths[batch])) if CUT.lengths else keys
                n: int32 @ block[1] = max(1, (length + (CUT.keys - 1)) / CUT.keys)
                begin: int32 @ block[1] = max(first - start, 0)
                end: int32 @ block[1] = min(n, last - start)
                from_: int32 @ block[1] = begin * CUT.keys
                to: int32 @ block[1] = end * CUT.keys
                least: int32 @ block[1] = length - (tokens - 1) if CUT.causal else length
                if CUT.tokens:
                    with claim(q_tile, filler) as q_in:
                        at: int64 @ warp[1] = batch * q_batch + head * shared_by * q_head
                        gather_rows(q_in, q_rows, at, rows, shared_by, q_head, q_token, wide_q)
                else:
                    with claim(q_tile, loader) as q_in, one(thread):
                        tma_load(q_in, q[batch, head, 0, 0])
                with consumers, group(thread[1]):
                    for h in range(2):
                        r: int32 = row(scores, 2 * h)
                        high[h] = min(length, least + r / shared_by) if CUT.causal else length
                        largest[h] = LEAST
                        total[h] = 0
                    for i in range(count(sums)):
                        sums[i] = 0
                with claim(q_tile, consumers) as q_now:
                    for j in range(from_, to + CUT.keys, CUT.keys):
                        with claim(k_tile, loader) as k_in, one(thread):
                            if j < to:
                                if CUT.page > 0:
                                    for p in range(0, CUT.keys, CUT.box):
                                        page: int32 = table[batch * wide + (j + p) / CUT.page] if j + p < length else pages
                                        tma_load(k_in[p, 0], k[page, head, (j + p) % CUT.page, 0])
                                else:
                                    tma_load(k_in, k[batch, head, j, 0])
                        with claim(v_tile, loader) as v_in, one(thread):
                            if j > from_:
                                if CUT.page > 0:
                                    for p in range(0, CUT.keys, CUT.box):
                                        i: int32 = j - CUT.keys + p
                                        page: int32 = table[batch * wide + i / CUT.page] if i < length else pages
                                        tma_load(v_in[p, 0], v[page, head, i % CUT.page, 0])
                                else:
                                    tma_load(v_in, v[batch, head, j - CUT.keys, 0])
                        with claim(k_tile, consumers, in_flight=1) as k_now, group(warpgroup[1]):
                            if j < to:
                                wgmma(scores, q_now, k_now, accumulate=False)
                        with claim(v_tile, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                            if j > from_:
                                if CUT.lengths and j > length:
                                    clear_rows(v_now, length - (j - CUT.keys))
                                wgmma(sums, weights, v_now, transpose_b=True)
                        with consumers:
                            if j < to:
                                with group(warpgroup[1]):
                                    if j + CUT.keys > least:
                                        mask(scores, low, high, j)
                                    weigh_rows(scores, largest, total, factor, scale, HALVES=CUT.halves)
                                with group(thread[1]):
                                    for i in range(count(sums)):
                                        if i / 2 % 2 < CUT.halves:
                                            sums[i] *= factor[i / 2 % 2]
                                    for i in range(count(weights)):
                                        if i / 2 % 2 < CUT.halves:
                                            weights[i] = T(scores[i])
                with consumers:
                    for h in range(CUT.halves):
                        for s in range(2):
                            total[h] += shuffle_xor(total[h], 1 << s)
                leader: int32 @ block[1] = unit_of(start, big, many, small)
                parts: int32 @ block[1] = unit_of(start + n - 1, big, many, small) - leader + 1
                slot: int64 @ block[1] = 2 * int64(unit) + (1 if begin == 0 else 0)
                left: int32 @ warp[1] = 0 if parts > 1 else 1  # parts that this warp is the last to have
                if parts > 1:
                    with claim(kept, consumers) as here, claim(marked, consumers) as facts:
                        keep(sums, largest, total, here, facts, slot, rows, HALVES=CUT.halves)
                    with (
                        claim(words, consumers) as all_words, partition(all_words, warp[1], lambda i: i + 32 * strip) as own,
                        group(warp[1]),
                    ):
                        if 16 * strip < rows:
                            done: bool = is_last(counters, 4 * piece + strip, own, parts)
                            left = parts if done else 0
                    with claim(kept, consumers) as there, claim(marked, consumers) as facts:
                        add_up(sums, largest, total, there, facts, 2 * int64(leader) + 1, left, HALVES=CUT.halves)
                with (
                    partition(
                        outs, thread[1],
                        lambda r, c: batch * o_batch + (head * shared_by + r % shared_by) * o_head + r / shared_by * o_token + c,
                        races="allow",
                    ) as out,
                    partition(
                        logs, thread[1],
                        lambda r: ((int64(batch) * heads + head) * shared_by + r % shared_by) * tokens + r / shared_by,
                        races="allow",
                    ) as log,
                    consumers, group(thread[1]),
                ):
                    for h in range(CUT.halves):
                        factor[h] = 1 / total[h] if total[h] > 0 else 0
                        r: int32 = row(scores, 2 * h)
                        if CUT.lse and left > 0 and r < rows and lane % 4 == 0:
                            log[r] = (largest[h] + log2(total[h])) * LN_2
                    for i in range(0, count(sums), 2):
                        r: int32 = row(sums, i)
                        if i / 2 % 2 < CUT.halves and left > 0 and r < rows and column(sums, i) < columns:
                            pair: vector(T, 2)
                            for e in range(2):
                                pair[e] = T(sums[i + e] * factor[i / 2 % 2])
                            store_vector(out[r, column(sums, i)], pair)
                piece += 1
                start += n

        grid.dynamic_tiles(tickets, b, blocks, units, scheduler, TILE=attend_unit, THREADS=CUT.threads)


EXAMPLES = {"decode": {"T": "float16", "CUT": DecodeCut(128, 128, 128)}}
