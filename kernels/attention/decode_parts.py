"""Parts of a row's attention that several blocks have are added up, by a kernel of its own."""

from __future__ import annotations

from prism.kernels.attention.decode_cut import AddCut, Sizes
from prism.kernels.attention.softmax import LEAST, LN_2, LOG2_E
from prism.lang import (
    block, const, constexpr, count, dtype, fast_exp2_flush, float32, grid, group, id, int32, int64, load_vector, log2, partition,
    prism, ptr, requires, shared, shuffle_xor, store_vector, template, thread, vector,
)  # fmt: skip


@prism("device")
@requires(thread[1])
def join(
    sums: float32[4] @ thread[1], facts: float32[2] @ thread[1], more: vector(float32, 4) @ thread[1],
    others: vector(float32, 2) @ thread[1],
):
    """Add sums to others; the `facts` of both: the logarithm, to base 2, of what they are times, and the sum of weights."""
    top: float32 = max(facts[0], others[0])
    before: float32 = fast_exp2_flush(facts[0] - top)
    factor: float32 = fast_exp2_flush(others[0] - top)
    for i in range(4):
        sums[i] = sums[i] * before + more[i] * factor
    facts[0] = top
    facts[1] = facts[1] * before + others[1] * factor


@prism("global")
@template(T=dtype, CUT=constexpr(AddCut))
@requires(grid[1], block[1], thread[CUT.threads])
def add_parts(
    o: ptr(T) @ grid[1], lse: ptr(float32) @ grid[1], parts: ptr(const(float32)) @ grid[1],
    part_logs: ptr(const(float32)) @ grid[1], leaders: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Add up the parts of each piece that has several, in the same order each time, and write the result.

    Perspective: grid. `CUT.lanes` threads have four columns each of a row, of each `CUT.each`th part; others, of up to
                 `CUT.split` warps of the block, whose sums are added up then, have the other parts.
    Shapes:      `parts`, `part_logs`, `leaders`: as `decode` leaves them; where sequences have one length, there are no `leaders`.
    Test:        tests/kernels/test_attention_decode.py
    """
    b: int32 @ block[1] = id()
    times: int32 @ grid[1] = (s.columns_v + (4 * CUT.lanes - 1)) / (4 * CUT.lanes)  # that these columns are in a row
    with partition(o, block[1], races="allow") as outs, partition(lse, block[1], races="allow") as logs, group(block[1]):
        beside: shared(float32[CUT.warps, 4 * CUT.lanes + 4])
        t: int32 @ thread[1] = id()
        unit: int64 @ thread[1] = int64(b) * (CUT.warps // CUT.split) + t / 32 / CUT.split  # of rows' columns
        piece: int32 @ thread[1] = int32(unit / (times * s.strip))
        within: int32 @ thread[1] = int32(unit - int64(piece) * (times * s.strip))
        r: int32 @ thread[1] = piece % s.strips * 64 + within / times
        c: int32 @ thread[1] = (within % times * CUT.lanes + t % CUT.lanes) * 4
        place: vector(int32, 2) @ thread[1] = vector(int32, 2)(0, 1)
        sums: float32[4] @ thread[1] = [0, 0, 0, 0]
        facts: float32[2] @ thread[1] = [LEAST, 0]
        with group(thread[1]):
            if piece < s.batches * s.heads * s.strips and r < s.shared_by * s.tokens:
                if CUT.lengths:
                    place = load_vector(leaders[2 * int64(piece)], 2)
                else:
                    each: int32 = grid.count_tiles(s.keys, SIZE=CUT.keys)
                    tiles: int32 = each * (s.batches * s.heads * s.strips)
                    place[0] = grid.owner(piece * each, tiles, s.blocks)
                    place[1] = grid.owner(piece * each + each - 1, tiles, s.blocks) - place[0] + 1
            for p in range(t / CUT.lanes % CUT.each, place[1] if place[1] > 1 else 0, CUT.each * CUT.deep):
                few: vector(float32, 4)[CUT.deep]
                of_few: float32[CUT.deep]
                for i in range(CUT.deep):  # no branches between loads
                    part: int32 = min(p + i * CUT.each, place[1] - 1)
                    slot: int64 = (2 * (place[0] + part) + (1 if part == 0 else 0)) * s.strip + within / times
                    of_few[i] = part_logs[slot] * LOG2_E
                    few[i] = load_vector(parts[slot * s.padded_v + min(c, s.padded_v - 4)], 4)
                for i in range(CUT.deep):
                    if p + i * CUT.each < place[1]:
                        join(sums, facts, few[i], vector(float32, 2)(of_few[i], 1))
        for x in range(CUT.steps):
            more: vector(float32, 4) @ thread[1] = vector(float32, 4)(sums[0], sums[1], sums[2], sums[3])
            others: vector(float32, 2) @ thread[1] = vector(float32, 2)(facts[0], facts[1])
            more = shuffle_xor(more, CUT.lanes << x)
            others = shuffle_xor(others, CUT.lanes << x)
            with group(thread[1]):
                join(sums, facts, more, others)
        if CUT.split > 1:
            with partition(beside, thread[1], lambda e: (t / 32, e), races="allow") as mine, group(thread[1]):
                if t % 32 < CUT.lanes:
                    store_vector(mine[t % 32 * 4], vector(float32, 4)(sums[0], sums[1], sums[2], sums[3]))
                if t % 32 == 0:
                    store_vector(mine[4 * CUT.lanes], vector(float32, 2)(facts[0], facts[1]))
        pair: int32 @ thread[1] = piece / s.strips
        at: int64 @ thread[1] = pair / s.heads * s.o_batch + (pair % s.heads * s.shared_by + r % s.shared_by) * s.o_head
        with (
            partition(outs, thread[1], at + r / s.shared_by * s.o_token + c, races="allow") as out,
            partition(logs, thread[1], int64(pair * s.shared_by + r % s.shared_by) * s.tokens + r / s.shared_by, races="allow") as log,
            group(thread[1]),
        ):  # fmt: skip
            if t % (32 * CUT.split) < CUT.lanes and place[1] > 1:
                for i in range(1, CUT.split):
                    join(sums, facts, load_vector(beside[t / 32 + i, t % 32 * 4], 4), load_vector(beside[t / 32 + i, 4 * CUT.lanes], 2))
                if c < s.columns_v:
                    four: vector(T, 4)
                    for i in range(4):
                        four[i] = T(sums[i] / facts[1]) if facts[1] > 0 else T(0)
                    store_vector(out[0], four)
                if CUT.lse and c == 0:
                    log[0] = (facts[0] + log2(facts[1])) * LN_2


EXAMPLES = {"add_parts": {"T": "float16", "CUT": AddCut(4, 4)}}

__all__ = ["add_parts"]
