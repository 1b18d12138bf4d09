"""Decoding with one latent cache: a key's first elements are its value, all heads share them, and its last ones are its place's.

A row has so many columns of sums that two warpgroups make the same scores, and half of the columns each. All else is `decode`'s.
"""

from __future__ import annotations

from prism.kernels.attention.decode_cut import LatentCut, Sizes, Steps
from prism.kernels.attention.decode_parts import finish
from prism.kernels.attention.decode_pieces import begin_rows, bring, clear_rows, deal, load_query, scale_rows
from prism.kernels.attention.softmax import mask, weigh
from prism.lang import (
    CUtensorMap, attr, block, claim, const, constexpr, count, dtype, float32, fragment, grid, group, id, int32, one,
    partition, prefetch_map, prism, ptr, requires, roles, set_registers, shared, store_vector, template, thread, turns, warp,
    warpgroup, wgmma,
)  # fmt: skip


@prism("device")
@template(T=dtype, CUT=constexpr(LatentCut))
@requires(block[1], thread[384])
def add_tiles(
    q_tile: shared(T[128, 256], ring=1, swizzle=128) @ block[1], q_end: shared(T[64, 64], ring=1, swizzle=128) @ block[1],
    k: (ptr(const(T)) if CUT.gathers else const(CUtensorMap(T, 1, 1, CUT.box, 256, swizzle=128))) @ grid[1],
    v: (ptr(const(T)) if CUT.gathers else const(CUtensorMap(T, 1, 1, CUT.box, 64, swizzle=128))) @ grid[1],
    table: ptr(const(int32)) @ grid[1], sums: fragment(float32, 64, 256) @ warpgroup[1], largest: float32[2] @ thread[1],
    total: float32[2] @ thread[1], workers: roles(warpgroup, 2), consumers: roles(warp, 8),
    loader: roles(warp, CUT.loaders),
    piece: int32 @ block[1], first: int32 @ block[1], last: int32 @ block[1], length: int32 @ block[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Add up the values of a piece's tiles `first` to `last`, of `length` keys, by the scores of its rows: half of them each."""
    k_first: shared(T[64, 256], ring=2, swizzle=128)
    k_next: shared(T[64, 256], ring=2, swizzle=128)
    k_rest: shared(T[64, 64], ring=2, swizzle=128)
    scores: fragment(float32, 64, 64) @ warpgroup[1] = 0
    weights: fragment(T, 64, 64) @ warpgroup[1] = 0
    factor: float32[2] @ thread[1]
    low: int32[2] @ thread[1] = [0, 0]
    high: int32[2] @ thread[1]
    w: int32 @ warpgroup[1] = id()
    steps: Steps @ block[1] = Steps(s.k_page, s.k_head, s.k_key, s.columns)
    LATE: constexpr(int) = 1 if CUT.gathers else 0
    batch: int32 @ block[1] = piece / s.strips / s.heads
    head: int32 @ block[1] = piece / s.strips % s.heads
    with consumers, group(warpgroup[1]):
        begin_rows(scores, sums, largest, total, high, length, piece % s.strips * 64, s, CAUSAL=CUT.causal)
    with claim(q_tile, consumers) as q_now, claim(q_end, consumers) as q_last:
        for j in range(first * 64, last * 64, 64):
            with claim(k_rest, loader, in_flight=LATE) as k_in:
                bring(
                    k_in, v, steps, batch, head, j, 512, length, table, s,
                    BOX=CUT.box, PAGE=CUT.page, ONCE=CUT.once, WARPS=CUT.loaders,
                )  # fmt: skip
            with claim(k_first, loader, in_flight=LATE) as k_in:
                bring(
                    k_in, k, steps, batch, head, j, 0, length, table, s,
                    BOX=CUT.box, PAGE=CUT.page, ONCE=CUT.once, WARPS=CUT.loaders,
                )  # fmt: skip
            with claim(k_next, loader, in_flight=LATE) as k_in:
                bring(
                    k_in, k, steps, batch, head, j, 256, length, table, s,
                    BOX=CUT.box, PAGE=CUT.page, ONCE=CUT.once, WARPS=CUT.loaders,
                )  # fmt: skip
            with claim(k_rest, consumers) as k_now, group(warpgroup[1]):
                wgmma(scores, q_last, k_now, accumulate=False)
            with claim(k_first, consumers) as k_left, claim(k_next, consumers) as k_right:
                if CUT.lengths and j + 64 > length:
                    clear_rows(k_left, length - j, THREADS=256)
                    clear_rows(k_right, length - j, THREADS=256)
                with turns(workers), group(warpgroup[1]):  # one weighs scores while the other makes its own
                    wgmma(scores, q_now[0, 0], k_left)
                    wgmma(scores, q_now[64, 0], k_right)
                with group(warpgroup[1]):
                    if j + 64 > length - (s.tokens - 1 if CUT.causal else 0):
                        mask(scores, low, high, j)
                    weigh(scores, largest, total, factor, s.scale, MORE=0)
                    scale_rows(scores, weights, sums, factor)
                    if w == 0:
                        wgmma(sums, weights, k_left, transpose_b=True)
                    else:
                        wgmma(sums, weights, k_right, transpose_b=True)


@prism("global")
@template(T=dtype, CUT=constexpr(LatentCut))
@requires(grid[1], block[1], thread[384])
@attr("__launch_bounds__(384, 1)")
def decode_latent(
    q: ptr(const(T)) @ grid[1],
    k: (ptr(const(T)) if CUT.gathers else const(CUtensorMap(T, 1, 1, CUT.box, 256, swizzle=128))) @ grid[1],
    v: (ptr(const(T)) if CUT.gathers else const(CUtensorMap(T, 1, 1, CUT.box, 64, swizzle=128))) @ grid[1],
    o: ptr(T) @ grid[1], lse: ptr(float32) @ grid[1], partial: ptr(float32) @ grid[1], leaders: ptr(int32) @ grid[1],
    lengths: ptr(const(int32)) @ grid[1], table: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):  # fmt: skip
    """`decode` of 576 elements of queries and keys, whose first 512 are the values."""
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with (
        partition(o, block[1], lambda i: i, races="allow") as outs, partition(lse, block[1], lambda i: i, races="allow") as logs,
        partition(partial, block[1], lambda i: i, races="allow") as kept,
        partition(leaders, block[1], lambda i: i, races="allow") as marks, group(block[1]),
    ):
        q_tile: shared(T[128, 256], ring=1, swizzle=128)  # the rows' first 256 elements, then their next
        q_end: shared(T[64, 64], ring=1, swizzle=128)
        sums: fragment(float32, 64, 256) @ warpgroup[1] = 0
        largest: float32[2] @ thread[1]
        total: float32[2] @ thread[1]
        t: int32 @ thread[1] = id()
        w: int32 @ warpgroup[1] = id()
        workers, helpers = roles(warpgroup, 2, 1)
        consumers, loader = roles(warp, 8, CUT.loaders)
        with helpers:
            set_registers(40)
        with workers:
            set_registers(232)
        if not CUT.gathers:
            with loader, one(thread):
                prefetch_map(k)
                prefetch_map(v)

        @requires(block[1], thread[384])
        def attend_piece(
            piece: int32 @ block[1], length: int32 @ block[1], first: int32 @ block[1], last: int32 @ block[1],
            leader: int32 @ block[1], parts: int32 @ block[1],
        ):
            with (
                claim(q_tile, consumers) as q_in, claim(q_end, consumers) as end_in,
                partition(q_in, thread[1], lambda e: (e / 256, e % 256)) as own,
                partition(end_in, thread[1], lambda e: (e / 64, e % 64)) as rest, group(thread[1]),
            ):
                for e in range(8 * t, 128 * 256, 8 * 256):
                    store_vector(own[e], load_query(q, piece, e / 256 % 64, e / 256 / 64 * 256 + e % 256, s))
                for e in range(8 * t, 64 * 64, 8 * 256):
                    store_vector(rest[e], load_query(q, piece, e / 64, 512 + e % 64, s))
            add_tiles(
                q_tile, q_end, k, v, table, sums, largest, total, workers, consumers, loader, piece, first, last, length, s,
                CUT=CUT,
            )  # fmt: skip
            with (
                claim(outs, consumers) as out_, claim(logs, consumers) as log_, claim(kept, consumers) as kept_,
                claim(marks, consumers) as at_, partition(out_, warpgroup[1], 0, races="allow") as out,
                partition(log_, warpgroup[1], 0, races="allow") as log, partition(at_, warpgroup[1], 0, races="allow") as at,
                partition(kept_, warpgroup[1], 0, races="allow") as here, group(warpgroup[1]),
            ):
                finish(
                    out, log, here, at, sums, largest, total, b, leader, parts, piece, w * 256, s, LSE=CUT.lse,
                    LEADERS=CUT.lengths,
                )  # fmt: skip

        deal(b, blocks, lengths, s, PIECE=attend_piece, THREADS=384, KEYS=64, LENGTHS=CUT.lengths)


EXAMPLES = {"decode_latent": {"T": "bfloat16", "CUT": LatentCut()}}
