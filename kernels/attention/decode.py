"""Attention of few queries to many keys: decoding. Keys and values are read once, and evenly by all multiprocessors.

The query heads that share a key head are rows of one product. Tiles of keys are numbered through all sequences and heads, and
dealt out evenly, those that follow one another to one block; what several blocks have of a head another kernel adds up, in the
order of the keys.
"""

from __future__ import annotations

from prism.kernels.attention.decode_cut import DecodeCut, Sizes, Steps
from prism.kernels.attention.decode_parts import finish
from prism.kernels.attention.decode_pieces import begin_rows, bring, clear_rows, deal, load_query, scale_rows
from prism.kernels.attention.softmax import mask, weigh
from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, dtype, float32, fragment, grid, group, id, int32, one,
    partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared, store_vector, template, thread, warp,
    warpgroup, wgmma,
)  # fmt: skip


@prism("device")
@template(T=dtype, CUT=constexpr(DecodeCut))
@requires(block[1], thread[CUT.threads])
def add_tiles(
    q_tile: shared(T[64, CUT.dim], ring=1, swizzle=128) @ block[1],
    k: (ptr(const(T)) if CUT.gathers else const(CUtensorMap(T, 1, 1, CUT.box, CUT.dim, swizzle=128))) @ grid[1],
    v: (ptr(const(T)) if CUT.gathers else const(CUtensorMap(T, 1, 1, CUT.box, CUT.dim_v, swizzle=128))) @ grid[1],
    table: ptr(const(int32)) @ grid[1], sums: fragment(float32, 64, CUT.dim_v) @ warpgroup[1], largest: float32[2] @ thread[1],
    total: float32[2] @ thread[1], consumers: roles(warp, 4), loader: roles(warp, CUT.loaders),
    piece: int32 @ block[1], first: int32 @ block[1], last: int32 @ block[1], length: int32 @ block[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Add up the values of a piece's tiles `first` to `last`, of `length` keys, by the scores of the rows in `q_tile`."""
    k_tile: shared(T[CUT.keys, CUT.dim], ring=CUT.stages, swizzle=128)
    v_tile: shared(T[CUT.keys, CUT.dim_v], ring=CUT.stages, swizzle=128)
    scores: fragment(float32, 64, CUT.keys) @ warpgroup[1] = 0
    weights: fragment(T, 64, CUT.keys) @ warpgroup[1] = 0
    factor: float32[2] @ thread[1]
    low: int32[2] @ thread[1] = [0, 0]
    high: int32[2] @ thread[1]
    of_k: Steps @ block[1] = Steps(s.k_page, s.k_head, s.k_key, s.columns)
    of_v: Steps @ block[1] = Steps(s.v_page, s.v_head, s.v_key, s.columns_v)
    LATE: constexpr(int) = 1 if CUT.gathers else 0
    batch: int32 @ block[1] = piece / s.strips / s.heads
    head: int32 @ block[1] = piece / s.strips % s.heads
    least: int32 @ block[1] = length - (s.tokens - 1) if CUT.causal else length
    with consumers, group(warpgroup[1]):
        begin_rows(scores, sums, largest, total, high, length, piece % s.strips * 64, s, CAUSAL=CUT.causal)
    with claim(q_tile, consumers) as q_now:
        for j in range(first * CUT.keys, last * CUT.keys, CUT.keys):
            with claim(k_tile, loader, in_flight=LATE) as k_in:
                bring(
                    k_in, k, of_k, batch, head, j, 0, length, table, s,
                    BOX=CUT.box, PAGE=CUT.page, ONCE=CUT.once, WARPS=CUT.loaders,
                )  # fmt: skip
            with claim(v_tile, loader, in_flight=LATE) as v_in:
                bring(
                    v_in, v, of_v, batch, head, j, 0, length, table, s,
                    BOX=CUT.box, PAGE=CUT.page, ONCE=CUT.once, WARPS=CUT.loaders,
                )  # fmt: skip
            with claim(k_tile, consumers) as k_now, group(warpgroup[1]):
                wgmma(scores, q_now, k_now, accumulate=False)
            with consumers, group(warpgroup[1]):
                if j + CUT.keys > least:
                    mask(scores, low, high, j)
                weigh(scores, largest, total, factor, s.scale, MORE=0)
                scale_rows(scores, weights, sums, factor)
            with claim(v_tile, consumers) as v_now, group(warpgroup[1]):
                if CUT.lengths and j + CUT.keys > length:
                    clear_rows(v_now, length - j, THREADS=128)
                wgmma(sums, weights, v_now, transpose_b=True)


@prism("global")
@template(T=dtype, CUT=constexpr(DecodeCut))
@requires(grid[1], block[1], thread[CUT.threads])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def decode(
    q: ptr(const(T)) @ grid[1],
    k: (ptr(const(T)) if CUT.gathers else const(CUtensorMap(T, 1, 1, CUT.box, CUT.dim, swizzle=128))) @ grid[1],
    v: (ptr(const(T)) if CUT.gathers else const(CUtensorMap(T, 1, 1, CUT.box, CUT.dim_v, swizzle=128))) @ grid[1],
    o: ptr(T) @ grid[1], lse: ptr(float32) @ grid[1], partial: ptr(float32) @ grid[1], leaders: ptr(int32) @ grid[1],
    lengths: ptr(const(int32)) @ grid[1], table: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):  # fmt: skip
    """`softmax(scale * q @ k.T) @ v` of up to 64 rows of each of `batches` times `heads` heads of keys, which are read once."""
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with (
        partition(o, block[1], lambda i: i, races="allow") as outs, partition(lse, block[1], lambda i: i, races="allow") as logs,
        partition(partial, block[1], lambda i: i, races="allow") as kept,
        partition(leaders, block[1], lambda i: i, races="allow") as marks, group(block[1]),
    ):
        q_tile: shared(T[64, CUT.dim], ring=1, swizzle=128)
        sums: fragment(float32, 64, CUT.dim_v) @ warpgroup[1] = 0
        largest: float32[2] @ thread[1]
        total: float32[2] @ thread[1]
        t: int32 @ thread[1] = id()
        consumers, loader = roles(warp, 4, CUT.loaders)
        if CUT.blocks > 1:
            workers, helpers = roles(warpgroup, 1, 1)
            with helpers:
                set_registers(40)
            with workers:
                set_registers(208)
        if not CUT.gathers:
            with loader, one(thread):
                prefetch_map(k)
                prefetch_map(v)

        @requires(block[1], thread[CUT.threads])
        def attend_piece(
            piece: int32 @ block[1], length: int32 @ block[1], first: int32 @ block[1], last: int32 @ block[1],
            leader: int32 @ block[1], parts: int32 @ block[1],
        ):
            with (
                claim(q_tile, consumers) as q_in, partition(q_in, thread[1], lambda e: (e / CUT.dim, e % CUT.dim)) as own,
                group(thread[1]),
            ):
                for e in range(8 * t, 64 * CUT.dim, 8 * 128):
                    store_vector(own[e], load_query(q, piece, e / CUT.dim, e % CUT.dim, s))
            add_tiles(q_tile, k, v, table, sums, largest, total, consumers, loader, piece, first, last, length, s, CUT=CUT)
            with (
                claim(outs, consumers) as out, claim(logs, consumers) as log, claim(kept, consumers) as here,
                claim(marks, consumers) as place, group(warpgroup[1]),
            ):
                finish(
                    out, log, here, place, sums, largest, total, b, leader, parts, piece, 0, s, LSE=CUT.lse,
                    LEADERS=CUT.lengths,
                )

        deal(b, blocks, lengths, s, PIECE=attend_piece, THREADS=CUT.threads, KEYS=CUT.keys, LENGTHS=CUT.lengths)


EXAMPLES = {"decode": {"T": "float16", "CUT": DecodeCut(128, 128)}}
