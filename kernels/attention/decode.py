"""Attention of few queries to many keys: decoding. Keys and values are read once, and evenly by all multiprocessors.

The query heads that share a key head are rows of one product. Tiles of keys are numbered through all sequences and heads, and
dealt out evenly, those that follow one another to one block; what several blocks have of a head another kernel adds up, in the
order of the keys. Of a latent cache a key's first elements are its value: then two warpgroups make the same scores, and half of
the columns of the result each, as one has no registers for all of them.
"""

from __future__ import annotations

from prism.kernels.attention.decode_cut import DecodeCut, Rows, Sizes
from prism.kernels.attention.decode_pieces import bring, put
from prism.kernels.attention.softmax import LEAST, compare, exponentiate, mask
from prism.kernels.hgemm.main_loop import share_registers
from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, dtype, float32, fragment, grid, group, id, int32, int64,
    load_vector, one, partition, prefetch_map, prism, ptr, requires, roles, row, shared, store_vector,
    template, thread, turns, vector, warp, warpgroup, wgmma,
)  # fmt: skip
from prism.lib.thread import operators


@prism.kernel
@template(T=dtype, CUT=constexpr(DecodeCut))
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def decode(
    q: ptr(const(T)) @ grid[1], k: const(CUtensorMap(T, 1, 1, 1, CUT.box, CUT.dim, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, 1, CUT.box, CUT.dim_v, swizzle=128)) @ grid[1], table: ptr(const(int32)) @ grid[1],
    o: ptr(T) @ grid[1], lse: ptr(float32) @ grid[1], parts: ptr(float32) @ grid[1], part_logs: ptr(float32) @ grid[1],
    leaders: ptr(int32) @ grid[1], lengths: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):  # fmt: skip
    """`softmax(scale * q @ k.T) @ v` of up to 64 rows of each of `batches` times `heads` heads of keys, which are read once.

    Perspective: grid, of `s.blocks` blocks.
    Shapes:      `q`, `o`: batches x (heads * shared_by) x tokens x columns, whose steps `s` has.
                 `k`, `v`: batches x ends x heads x keys, or pages x ends x heads x `CUT.page`, whose numbers `table` has for each
                 sequence; [., e, h, `s.span` - e + k] is key k where that is below e, and there are zeros behind it.
                 `parts`, `part_logs`: two slots of `s.strip` rows for each block, of what several blocks have a part of.
                 `leaders`, of sequences with `lengths`: for each head and strip of queries the first block that has a part, and
                 how many have.
    Numerics:    as of `attend`; each part is divided by its own sum.
    Test:        tests/kernels/test_attention_decode.py, tests/gpu/test_attention_decode.py
    """
    b: int32 @ block[1] = id()
    with (
        partition(o, warpgroup[1], races="allow") as outs, partition(lse, warpgroup[1], races="allow") as logs,
        partition(parts, warpgroup[1], races="allow") as kept, partition(part_logs, warpgroup[1], races="allow") as kept_logs,
        partition(leaders, thread[1], races="allow") as marks, group(block[1]),
    ):
        q_tile: shared(T[64, CUT.dim], ring=1, swizzle=128)
        k_tile: shared(T[CUT.keys, CUT.dim], ring=CUT.stages, swizzle=128)
        scores: fragment(float32, 64, CUT.keys) @ warpgroup[1] = 0
        weights: fragment(T, 64, CUT.keys) @ warpgroup[1] = 0
        factor: float32[2] @ thread[1]
        low: int32[2] @ thread[1] = [0, 0]
        t: int32 @ thread[1] = id()
        w: int32 @ warpgroup[1] = id()
        workers, helpers = roles(warpgroup, CUT.groups, 1)
        consumers, loader, bringer = roles(warp, 4 * CUT.groups, 1, 1)
        share_registers(workers, helpers, MANY=CUT.registers, FEW=40)
        with loader, one(thread):
            prefetch_map(k)

        @requires(block[1], thread["CUT.threads"])
        def attend_piece(
            piece: int32 @ block[1], length: int32 @ block[1], first: int32 @ block[1], last: int32 @ block[1],
            start: int32 @ block[1], tiles: int32 @ block[1],
        ):
            pair: int32 @ block[1] = piece // s.strips
            top: int32 @ block[1] = piece % s.strips * 64
            least: int32 @ block[1] = length - (s.rising - 1)  # keys that all tokens see
            high: int32[2] @ thread[1]
            sums: fragment(float32, 64, CUT.columns) @ warpgroup[1] = 0
            largest: float32[2] @ thread[1] = [LEAST, LEAST]
            total: float32[2] @ thread[1] = [0, 0]
            with claim(q_tile, consumers) as q_in, partition(q_in, thread[1], lambda e: (e // CUT.dim, e % CUT.dim)) as to:
                with group(thread[1]):
                    at: int64 = pair // s.heads * s.q_batch + pair % s.heads * s.shared_by * s.q_head
                    for e in range(8 * t, 64 * CUT.dim, 8 * 128 * CUT.groups, unroll=False):
                        r: int32 = top + e // CUT.dim
                        few: vector(T, 8) = vector(T, 8)(0)
                        if r < s.shared_by * s.tokens and e % CUT.dim < s.columns:
                            few = load_vector(q[at + r // s.tokens * s.q_head + r % s.tokens * s.q_token + e % CUT.dim], 8)
                        store_vector(to[e], few)
                    for h in range(2):
                        high[h] = least + (top + row(scores, 2 * h)) % s.rising
            place: vector(int32, 2) @ block[1] = grid.owners(start, grid.count_tiles(length, SIZE=CUT.keys), tiles, s.blocks)

            @requires(warpgroup[1])
            def look(j: int32 @ block[1]):
                if j + CUT.keys > least:
                    mask(scores, low, high, j)
                compare(scores, largest, total, factor, s.scale, MORE=0)
                exponentiate(scores, largest, total, s.scale, FOURS=False)
                with group(thread[1]):
                    for i in range(count(sums)):
                        sums[i] *= factor[i // 2 % 2]
                    for i in range(count(weights)):
                        weights[i] = T(scores[i])

            with claim(q_tile, consumers) as q_now:
                for j in range(first * CUT.keys, min(last * CUT.keys, length), CUT.keys, unroll=False):
                    with claim(k_tile, loader) as k_in:
                        bring(k_in, k, pair // s.heads, pair % s.heads, j, length, table, s, CUT=CUT)
                    if CUT.latent:
                        with claim(k_tile, consumers) as k_now:
                            with turns(workers), group(warpgroup[1]):  # one weighs scores while the other makes its own
                                wgmma(scores, q_now, k_now, accumulate=False)
                            with group(warpgroup[1]):
                                look(j)
                                wgmma(sums, weights, k_now[0, CUT.columns * w], transpose_b=True)
                    else:
                        v_tile: shared(T[CUT.keys, CUT.dim_v], ring=CUT.stages, swizzle=128)
                        with claim(v_tile, bringer) as v_in:
                            bring(v_in, v, pair // s.heads, pair % s.heads, j, length, table, s, CUT=CUT)
                        with claim(k_tile, consumers) as k_now, group(warpgroup[1]):
                            wgmma(scores, q_now, k_now, accumulate=False)
                        with consumers, group(warpgroup[1]):
                            look(j)
                        with claim(v_tile, consumers) as v_now, group(warpgroup[1]):
                            wgmma(sums, weights, v_now, transpose_b=True)
            with consumers, group(warpgroup[1]):
                for h in range(2):
                    total[h] = warp.reduce_groups(total[h], OP=operators.add, SIZE=4)  # rows are four threads' together
                if place[1] == 1:
                    at: int64 @ warpgroup[1] = pair // s.heads * s.o_batch + pair % s.heads * s.shared_by * s.o_head
                    to: Rows @ warpgroup[1] = Rows(at, s.o_head, s.o_token, int64(pair * s.shared_by) * s.tokens)
                    put(outs, logs, sums, largest, total, top, CUT.columns * w, to, s, LSE=CUT.lse)
                else:
                    slot: int64 @ warpgroup[1] = (2 * b + (1 if b == place[0] else 0)) * s.strip - top
                    to: Rows @ warpgroup[1] = Rows(slot * s.padded_v, int64(s.tokens) * s.padded_v, s.padded_v, slot)
                    put(kept, kept_logs, sums, largest, total, top, CUT.columns * w, to, s, LSE=True)
            if CUT.lengths and b == place[0]:
                with loader, one(thread):
                    store_vector(marks[2 * int64(piece)], place)

        grid.deal_tiles(
            b, s.blocks, lengths, s.batches, s.heads * s.strips, s.keys,
            WORK=attend_piece, SIZE=CUT.keys, UNEVEN=CUT.lengths, THREADS=CUT.threads,
        )  # fmt: skip


EXAMPLES = {"decode": {"T": "float16", "CUT": DecodeCut(128, 128)}}
