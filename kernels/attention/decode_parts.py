"""Parts of a row's attention that several blocks have: kept in memory, and added up by a kernel of its own."""

from __future__ import annotations

from prism.kernels.attention.decode_cut import AddCut, Sizes
from prism.kernels.attention.decode_pieces import block_of
from prism.kernels.attention.softmax import LEAST, LN_2
from prism.lang import (
    block, column, const, constexpr, count, dtype, fast_exp2_flush, float32, fragment, grid, group, id, int32, int64,
    load_vector, log2, one, partition, prism, ptr, requires, row, shared, shuffle_xor, store_vector, template, thread, vector,
    warpgroup,
)  # fmt: skip


@prism("device")
@requires(thread[1])
def slot_of(leader: int32 @ thread[1], part: int32 @ thread[1]) -> int32 @ thread[1]:
    """The slot of a part of a piece, whose first part is block `leader`'s.

    A block has two: of the piece that it goes on with, and of the one that it begins, and others end.
    """
    return 2 * (leader + part) + (1 if part == 0 else 0)


@prism("device")
@template(DIM=constexpr(int))
@requires(warpgroup[1])
def keep(
    kept: ptr(float32) @ warpgroup[1], slot: int32 @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    largest: float32[2] @ thread[1], total: float32[2] @ thread[1], rows: int32 @ warpgroup[1], start: int32 @ warpgroup[1],
    s: Sizes @ grid[1],
):
    """Write a part: of each row its sums, not divided by their total, then its largest score and its total, then two of no use.

    Perspective: warpgroup; the four threads that share rows have the same total.
    Shapes:      the sums' columns are those from `start` on.
    Test:        tests/kernels/test_attention_decode.py
    """
    lane: int32 @ thread[1] = id() % 4
    wide: int32 @ thread[1] = s.padded_v + 4
    with partition(kept, thread[1], lambda r, c: (slot * s.strip + r) * wide + c, races="allow") as own, group(thread[1]):
        for i in range(0, count(sums), 2):
            if row(sums, i) < rows:
                store_vector(own[row(sums, i), start + column(sums, i)], vector(float32, 2)(sums[i], sums[i + 1]))
        for h in range(2):
            if start + lane == 0 and row(sums, 2 * h) < rows:
                store_vector(own[row(sums, 2 * h), s.padded_v], vector(float32, 2)(largest[h], total[h]))


@prism("device")
@template(T=dtype, DIM=constexpr(int), LSE=constexpr(bool))
@requires(warpgroup[1])
def put(
    out: ptr(T) @ warpgroup[1], log: ptr(float32) @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    largest: float32[2] @ thread[1], total: float32[2] @ thread[1], piece: int32 @ warpgroup[1], start: int32 @ warpgroup[1],
    s: Sizes @ grid[1],
):
    """Write the result of a piece that nobody else has a part of: of its columns those from `start` on.

    Perspective: warpgroup; the four threads that share rows have the same total.
    Test:        tests/kernels/test_attention_decode.py
    """
    lane: int32 @ thread[1] = id() % 4
    head: int32 @ thread[1] = piece / s.strips * s.shared_by  # of all sequences
    batch: int32 @ thread[1] = piece / s.strips / s.heads
    at: int64 @ thread[1] = batch * s.o_batch + (head - batch * s.heads * s.shared_by) * s.o_head + start
    top: int32 @ thread[1] = piece % s.strips * 64
    with (
        partition(out, thread[1], lambda h, n, c: at + h * s.o_head + n * s.o_token + c, races="allow") as own_out,
        partition(log, thread[1], lambda h, n: int64(head + h) * s.tokens + n, races="allow") as own_log, group(thread[1]),
    ):
        for h in range(2):
            r: int32 = top + row(sums, 2 * h)
            if r < s.shared_by * s.tokens:
                share: int32 = r % s.shared_by
                token: int32 = r / s.shared_by
                factor: float32 = 1 / total[h] if total[h] > 0 else 0
                for i in range(0, count(sums), 4):
                    if start + column(sums, i) < s.columns_v:
                        two: vector(T, 2) = vector(T, 2)(T(sums[i + 2 * h] * factor), T(sums[i + 2 * h + 1] * factor))
                        store_vector(own_out[share, token, column(sums, i)], two)
                if LSE and lane == 0:
                    own_log[share, token] = (largest[h] + log2(total[h])) * LN_2


@prism("device")
@template(T=dtype, DIM=constexpr(int), LSE=constexpr(bool), LEADERS=constexpr(bool))
@requires(warpgroup[1])
def finish(
    out: ptr(T) @ warpgroup[1], log: ptr(float32) @ warpgroup[1], kept: ptr(float32) @ warpgroup[1],
    leaders: ptr(int32) @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1], largest: float32[2] @ thread[1],
    total: float32[2] @ thread[1], unit: int32 @ warpgroup[1], leader: int32 @ warpgroup[1], parts: int32 @ warpgroup[1],
    piece: int32 @ warpgroup[1], start: int32 @ warpgroup[1], s: Sizes @ grid[1],
):
    """Write what block `unit` has of a piece: the result where it has all of it, else a part; `add_parts` adds these up.

    Perspective: warpgroup.
    Shapes:      `parts` blocks from `leader` on have a part each; where `LEADERS`, both numbers of each piece go to `leaders`.
                 The sums' columns of the result are those from `start` on.
    Test:        tests/kernels/test_attention_decode.py
    """
    for h in range(2):
        for x in range(2):
            total[h] += shuffle_xor(total[h], 1 << x)
    if parts == 1:
        put(out, log, sums, largest, total, piece, start, s, LSE=LSE)
    else:
        rows: int32 @ warpgroup[1] = s.shared_by * s.tokens - piece % s.strips * 64
        keep(kept, slot_of(leader, unit - leader), sums, largest, total, rows, start, s)
    if LEADERS and unit == leader and start == 0:
        with partition(leaders, thread[1], 2 * int64(piece), races="allow") as own, one(thread):
            store_vector(own[0], vector(int32, 2)(leader, parts))


@prism("device")
@requires(thread[1])
def join(
    sums: float32[4] @ thread[1], facts: float32[2] @ thread[1], more: vector(float32, 4) @ thread[1],
    largest: float32 @ thread[1], total: float32 @ thread[1],
):
    """Add a part's sums, whose largest score and total are given, to others; `facts` are theirs."""
    top: float32 = max(facts[0], largest)
    before: float32 = fast_exp2_flush(facts[0] - top)
    factor: float32 = fast_exp2_flush(largest - top)
    for i in range(4):
        sums[i] = sums[i] * before + more[i] * factor
    facts[0] = top
    facts[1] = facts[1] * before + total * factor


@prism("device")
@template(CUT=constexpr(AddCut))
@requires(thread[1])
def place_of(
    leaders: ptr(const(int32)) @ grid[1], piece: int32 @ thread[1], there: bool @ thread[1], s: Sizes @ grid[1]
) -> (int32, int32) @ thread[1]:
    """Which block has the first part of a piece, and how many parts there are: 1 of what is not `there`."""
    each: int32 = max(1, (s.keys + (CUT.keys - 1)) / CUT.keys)
    pieces: int32 = s.batches * s.heads * s.strips
    place: vector(int32, 2) = vector(int32, 2)(0, 1)
    if there and CUT.lengths:
        place = load_vector(leaders[2 * int64(piece)], 2)
    elif there:
        place[0] = block_of(piece * each, pieces * each, s.blocks)
        place[1] = block_of(piece * each + each - 1, pieces * each, s.blocks) - place[0] + 1
    return place[0], place[1]


@prism("device")
@template(CUT=constexpr(AddCut))
@requires(thread[1])
def join_parts(
    sums: float32[4] @ thread[1], facts: float32[2] @ thread[1], partial: ptr(const(float32)) @ grid[1],
    leader: int32 @ thread[1], parts: int32 @ thread[1], first: int32 @ thread[1], r: int32 @ thread[1], c: int32 @ thread[1],
    s: Sizes @ grid[1],
):  # fmt: skip
    """Add up every `CUT.each`th part from `first` on: of row r of a piece four columns from c on."""
    for p in range(first, parts, CUT.each * CUT.deep):
        few: vector(float32, 4)[CUT.deep]
        of_few: vector(float32, 2)[CUT.deep]
        for i in range(CUT.deep):  # no branches between loads
            slot: int32 = slot_of(leader, min(p + i * CUT.each, parts - 1)) * s.strip + r
            of_few[i] = load_vector(partial[slot * (s.padded_v + 4) + s.padded_v], 2)
            few[i] = load_vector(partial[slot * (s.padded_v + 4) + min(c, s.padded_v - 4)], 4)
        for i in range(CUT.deep):
            if p + i * CUT.each < parts:
                join(sums, facts, few[i], of_few[i][0], of_few[i][1])


@prism("device")
@template(CUT=constexpr(AddCut))
@requires(block[1], thread[CUT.threads])
def join_lanes(sums: float32[4] @ thread[1], facts: float32[2] @ thread[1]):
    """Add up what those threads of a warp have that have the same columns: all of them get it."""
    for x in range(CUT.steps):
        others: vector(float32, 4) @ thread[1] = vector(float32, 4)(sums[0], sums[1], sums[2], sums[3])
        others = shuffle_xor(others, CUT.lanes << x)
        largest: float32 @ thread[1] = shuffle_xor(facts[0], CUT.lanes << x)
        total: float32 @ thread[1] = shuffle_xor(facts[1], CUT.lanes << x)
        with group(thread[1]):
            join(sums, facts, others, largest, total)


@prism("global")
@template(T=dtype, CUT=constexpr(AddCut))
@requires(grid[1], block[1], thread[CUT.threads])
def add_parts(
    o: ptr(T) @ grid[1], lse: ptr(float32) @ grid[1], partial: ptr(const(float32)) @ grid[1],
    leaders: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Add up the parts of each piece that has several, in the same order each time, and write the result.

    Perspective: grid. `CUT.lanes` threads have four columns each of a row, of each `CUT.each`th part; others, of up to
                 `CUT.split` warps of the block, whose sums are added up then, have the other parts.
    Shapes:      `partial`, `leaders`: as `finish` leaves them; of sequences of one length these can be told without `leaders`.
    Test:        tests/kernels/test_attention_decode.py
    """
    b: int32 @ block[1] = id()
    many: int32 @ grid[1] = (s.columns_v + (4 * CUT.lanes - 1)) / (4 * CUT.lanes)  # times that these columns are in a row
    of_all: int32 @ grid[1] = s.heads * s.shared_by
    with (
        partition(
            o, block[1], lambda h, n, c: h / of_all * s.o_batch + h % of_all * s.o_head + n * s.o_token + c, races="allow"
        ) as outs,
        partition(lse, block[1], lambda h, n: int64(h) * s.tokens + n, races="allow") as logs, group(block[1]),
    ):
        beside: shared(float32[CUT.warps, 4 * CUT.lanes + 4])
        t: int32 @ thread[1] = id()
        unit: int64 @ thread[1] = int64(b) * (CUT.warps // CUT.split) + t / 32 / CUT.split  # of rows' columns
        piece: int32 @ thread[1] = int32(unit / (many * s.strip))
        within: int32 @ thread[1] = int32(unit - int64(piece) * (many * s.strip))
        r: int32 @ thread[1] = piece % s.strips * 64 + within / many
        c: int32 @ thread[1] = (within % many * CUT.lanes + t % CUT.lanes) * 4
        leader: int32 @ thread[1] = 0
        parts: int32 @ thread[1] = 1
        sums: float32[4] @ thread[1] = [0, 0, 0, 0]
        facts: float32[2] @ thread[1] = [LEAST, 0]
        with group(thread[1]):
            there: bool = piece < s.batches * s.heads * s.strips and r < s.shared_by * s.tokens
            leader, parts = place_of(leaders, piece, there, s, CUT=CUT)
            if parts > 1:
                join_parts(sums, facts, partial, leader, parts, t / CUT.lanes % CUT.each, within / many, c, s, CUT=CUT)
        join_lanes(sums, facts, CUT=CUT)
        if CUT.split > 1:
            with partition(beside, thread[1], lambda e: (t / 32, e), races="allow") as mine, group(thread[1]):
                if t % 32 < CUT.lanes:
                    store_vector(mine[t % 32 * 4], vector(float32, 4)(sums[0], sums[1], sums[2], sums[3]))
                if t % 32 == 0:
                    store_vector(mine[4 * CUT.lanes], vector(float32, 2)(facts[0], facts[1]))
        with (
            partition(outs, thread[1], lambda h, n: (h, n, c), races="allow") as out,
            partition(logs, thread[1], lambda h, n: (h, n), races="allow") as log, group(thread[1]),
        ):
            if t % (32 * CUT.split) < CUT.lanes and parts > 1:
                for i in range(1, CUT.split):
                    of_one: vector(float32, 2) = load_vector(beside[t / 32 + i, 4 * CUT.lanes], 2)
                    join(sums, facts, load_vector(beside[t / 32 + i, t % 32 * 4], 4), of_one[0], of_one[1])
                h: int32 = piece / s.strips * s.shared_by + r % s.shared_by
                n: int32 = r / s.shared_by
                if c < s.columns_v:
                    four: vector(T, 4)
                    for i in range(4):
                        four[i] = T(sums[i] / facts[1]) if facts[1] > 0 else T(0)
                    store_vector(out[h, n], four)
                if CUT.lse and c == 0:
                    log[h, n] = (facts[0] + log2(facts[1])) * LN_2


EXAMPLES = {"add_parts": {"T": "float16", "CUT": AddCut(4, 4)}}

__all__ = ["add_parts", "finish"]
