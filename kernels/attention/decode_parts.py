"""Parts of a row's attention that several blocks have are added up, by a kernel of its own."""

from __future__ import annotations

import math

from prism.kernels.attention.decode_cut import AddCut, Part, Sizes
from prism.kernels.attention.softmax import LEAST, LN_2, LOG2_E
from prism.lang import (
    block, const, constexpr, dtype, fast_exp2_flush, float32, grid, group, id, int32, int64, load_vector, log2, partition,
    prism, ptr, requires, store_vector, template, thread, vector,
)  # fmt: skip


@prism.device
@requires(thread[1])
def join(a: Part @ thread[1], b: Part @ thread[1]) -> Part @ thread[1]:
    """The sum of two parts of the same columns."""
    log: float32 = max(a.log, b.log)
    p: float32 = fast_exp2_flush(a.log - log)
    q: float32 = fast_exp2_flush(b.log - log)
    return Part(a.x * p + b.x * q, a.y * p + b.y * q, a.z * p + b.z * q, a.w * p + b.w * q, log, a.total * p + b.total * q)


@prism.kernel
@template(T=dtype, CUT=constexpr(AddCut))
@requires(grid[1], block[1], thread["CUT.threads"])
def add_parts(
    o: ptr(T) @ grid[1], lse: ptr(float32) @ grid[1], parts: ptr(const(float32)) @ grid[1],
    part_logs: ptr(const(float32)) @ grid[1], leaders: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Add up the parts of each piece that has several, in the same order each time, and write the result.

    Perspective: grid. `CUT.lanes` threads have four columns each of a row, of each `CUT.each`th part; others, of up to
                 `CUT.split` warps of the block, whose sums are added up then, have the other parts.
    Shapes:      `parts`, `part_logs`, `leaders`: as `decode` leaves them; of sequences of one length there are no `leaders`.
    Test:        tests/kernels/test_attention_decode.py
    """
    b: int32 @ block[1] = id()
    times: int32 @ grid[1] = (s.columns_v + (4 * CUT.lanes - 1)) // (4 * CUT.lanes)  # that these columns are in a row
    with partition(o, thread[1], races="allow") as out, partition(lse, thread[1], races="allow") as log, group(block[1]):
        t: int32 @ thread[1] = id()
        unit: int64 @ thread[1] = int64(b) * (CUT.warps // CUT.split) + t // 32 // CUT.split  # of rows' columns
        piece: int32 @ thread[1] = int32(unit // (times * s.strip))
        within: int32 @ thread[1] = int32(unit - int64(piece) * (times * s.strip))
        r: int32 @ thread[1] = piece % s.strips * 64 + within // times
        c: int32 @ thread[1] = (within % times * CUT.lanes + t % CUT.lanes) * 4
        pair: int32 @ thread[1] = piece // s.strips
        head: int32 @ thread[1] = pair % s.heads * s.shared_by + r // s.tokens
        at: int64 @ thread[1] = pair // s.heads * s.o_batch + head * s.o_head + r % s.tokens * s.o_token
        place: vector(int32, 2) @ thread[1] = vector(int32, 2)(0, 1)
        whole: Part @ thread[1] = Part(0, 0, 0, 0, LEAST, 0)
        with group(thread[1]):
            if piece < s.batches * s.heads * s.strips and r < s.shared_by * s.tokens:
                if CUT.lengths:
                    place = load_vector(leaders[2 * int64(piece)], 2)
                else:
                    each: int32 = grid.count_tiles(s.keys, SIZE=CUT.keys)
                    place = grid.owners(piece * each, each, s.batches * s.heads * s.strips * each, s.blocks)
            for p in range(t // CUT.lanes % CUT.each, place[1] if place[1] > 1 else 0, CUT.each * CUT.deep, unroll=False):
                few: Part[CUT.deep]
                for i in range(CUT.deep):  # no branches between loads
                    n: int32 = p + i * CUT.each
                    unit_of: int32 = place[0] + min(n, place[1] - 1)
                    slot: int64 = (2 * unit_of + (1 if unit_of == place[0] else 0)) * s.strip + within // times
                    read: vector(float32, 4) = load_vector(parts[slot * s.padded_v + min(c, s.padded_v - 4)], 4)
                    few[i] = Part(read[0], read[1], read[2], read[3], part_logs[slot] * LOG2_E if n < place[1] else -math.inf, 1)
                for i in range(CUT.deep):
                    whole = join(whole, few[i])
        whole = block.reduce_apart(whole, OP=join, APART=CUT.lanes, TEAM=32 * CUT.split, THREADS=CUT.threads)
        with group(thread[1]):
            if t % (32 * CUT.split) < CUT.lanes and place[1] > 1 and c < s.columns_v:
                by: float32 = 1 / whole.total if whole.total > 0 else 0
                four: vector(T, 4) = vector(T, 4)(T(whole.x * by), T(whole.y * by), T(whole.z * by), T(whole.w * by))
                store_vector(out[at + c], four)
                if CUT.lse and c == 0:
                    log[int64(pair * s.shared_by) * s.tokens + r] = (whole.log + log2(whole.total)) * LN_2


EXAMPLES = {"add_parts": {"T": "float16", "CUT": AddCut(4, 4)}}

__all__ = ["add_parts"]
