"""Parts of a row's attention that several blocks have: kept in memory, counted, and added up by those that are done last."""

from __future__ import annotations

from prism.kernels.attention.decode_cut import Sizes
from prism.kernels.attention.softmax import LEAST, LN_2
from prism.lang import (
    atomic_increment, claim, column, constexpr, count, dtype, fast_exp2_flush, float32, fragment, grid, group, id, int32, int64,
    load_vector, log2, one, partition, prism, ptr, requires, row, shared, shuffle_xor, store_vector, template,
    thread, uint32, vector, warp, warpgroup,
)  # fmt: skip


@prism("device")
@template(DIM=constexpr(int))
@requires(warpgroup[1])
def keep(
    kept: ptr(float32) @ warpgroup[1], slot: int32 @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    largest: float32[2] @ thread[1], total: float32[2] @ thread[1], rows: int32 @ warpgroup[1], s: Sizes @ grid[1],
):
    """Write a part: of each row its sums, not divided by their total, then its largest score and its total, then two of no use.

    Perspective: warpgroup; the four threads that share rows have the same total.
    Test:        tests/kernels/test_attention_decode.py
    """
    lane: int32 @ thread[1] = id() % 4
    with (
        partition(kept, thread[1], lambda r, c: (slot * s.strip + r) * (DIM + 4) + c, races="allow") as own, group(thread[1])
    ):
        for i in range(0, count(sums), 2):
            if row(sums, i) < rows:
                store_vector(own[row(sums, i), column(sums, i)], vector(float32, 2)(sums[i], sums[i + 1]))
        for h in range(2):
            if lane == 0 and row(sums, 2 * h) < rows:
                store_vector(own[row(sums, 2 * h), DIM], vector(float32, 2)(largest[h], total[h]))


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
@requires(warpgroup[1])
def is_last(
    counters: ptr(uint32) @ grid[1], which: int32 @ warpgroup[1], words: shared(uint32[4]) @ warpgroup[1],
    parts: int32 @ warpgroup[1],
) -> bool @ warpgroup[1]:
    """Count that the warpgroup has kept its part; whether all `parts` are: then they can be read, and the count is 0 again.

    Perspective: warpgroup.
    Shapes:      `words`: of no meaning; all warps write them before one thread counts, and read one behind that.
    Test:        tests/kernels/test_attention_decode.py
    """
    w: int32 @ warp[1] = id()
    with partition(words, warp[1], w) as part, group(warp[1]), claim(part, thread[1]) as own, one(thread):
        own[0] = 0
    with claim(words, thread[1]) as all, one(thread):
        before: uint32 = all[3]
        if parts > 1:
            before = atomic_increment(counters[which], uint32(parts - 1) + before, order="acq_rel")
        all[0] = before
    return words[0] + 1 == uint32(parts)


@prism("device")
@requires(thread[1])
def slot_of(leader: int32 @ thread[1], part: int32 @ thread[1], piece: int32 @ thread[1]) -> int32 @ thread[1]:
    """The slot of a part of a piece; its first part is unit `leader`'s.

    A unit has three: of the piece that it goes on with, and two in turn of those that it begins, so that nobody has to wait until
    all warps have read what is kept of the one before.
    """
    return 3 * (leader + part) + (1 + piece % 2 if part == 0 else 0)


@prism("device")
@template(T=dtype, DIM=constexpr(int), LSE=constexpr(bool))
@requires(warpgroup[1])
def add_up(
    out: ptr(T) @ warpgroup[1], log: ptr(float32) @ warpgroup[1], kept: ptr(float32) @ warpgroup[1], read: int32 @ warpgroup[1],
    write: int32 @ warpgroup[1], leader: int32 @ warpgroup[1], first: int32 @ warpgroup[1], step: int32 @ warpgroup[1],
    parts: int32 @ warpgroup[1], final: bool @ warpgroup[1], piece: int32 @ warpgroup[1], start: int32 @ warpgroup[1],
    s: Sizes @ grid[1],
):
    """Add up `parts` parts from `first` on, each `step`th, and write the result, or, where there are more, another part.

    Perspective: warpgroup.
    Shapes:      parts are in the slots from `read` on, the new one will be in those from `write` on.
    Numerics:    in the order of the parts, whatever the order in which they were kept.
    Test:        tests/kernels/test_attention_decode.py
    """
    AT_ONCE: constexpr(int) = 12
    t: int32 @ thread[1] = id()
    target: int32 @ thread[1] = write + slot_of(leader, first, piece)
    tops: int32 @ thread[1] = piece % s.strips * 64
    head: int32 @ thread[1] = piece / s.strips * s.shared_by  # of all sequences
    of_all: int32 @ thread[1] = s.heads * s.shared_by
    with (
        partition(
            out, thread[1], lambda h, n, c: h / of_all * s.o_batch + h % of_all * s.o_head + n * s.o_token + c, races="allow"
        ) as own_out,
        partition(log, thread[1], lambda h, n: int64(h) * s.tokens + n, races="allow") as own_log,
        partition(kept, thread[1], lambda p, r, c: (p * s.strip + r) * (DIM + 4) + c, races="allow") as all, group(thread[1]),
    ):
        for e in range(4 * t, min(64, s.shared_by * s.tokens - tops) * DIM, 512):
            r: int32 = e / DIM
            c: int32 = e % DIM
            h: int32 = head + (tops + r) % s.shared_by
            n: int32 = (tops + r) / s.shared_by
            sums: vector(float32, 4) = vector(float32, 4)(0)
            largest: float32 = LEAST
            total: float32 = 0
            for p in range(0, parts, AT_ONCE):
                few: vector(float32, 4)[AT_ONCE]
                facts: vector(float32, 2)[AT_ONCE]
                for i in range(AT_ONCE):  # no branches between loads
                    slot: int32 = read + slot_of(leader, first + min(p + i, parts - 1) * step, piece)
                    facts[i] = load_vector(all[slot, r, DIM], 2)
                    few[i] = load_vector(all[slot, r, c], 4)
                for i in range(AT_ONCE):
                    if p + i < parts:
                        top: float32 = max(largest, facts[i][0])
                        before: float32 = fast_exp2_flush(largest - top)
                        factor: float32 = fast_exp2_flush(facts[i][0] - top)
                        sums = sums * before + few[i] * factor
                        total = total * before + facts[i][1] * factor
                        largest = top
            if not final:
                store_vector(all[target, r, c], sums)
                if c == 0:
                    store_vector(all[target, r, DIM], vector(float32, 2)(largest, total))
            else:
                if start + c < s.columns_v:
                    four: vector(T, 4)
                    for i in range(4):
                        four[i] = T(sums[i] / total) if total > 0 else T(0)
                    store_vector(own_out[h, n, start + c], four)
                if LSE and c == 0:
                    own_log[h, n] = (largest + log2(total)) * LN_2


@prism("device")
@template(T=dtype, DIM=constexpr(int), LSE=constexpr(bool))
@requires(warpgroup[1])
def finish(
    out: ptr(T) @ warpgroup[1], log: ptr(float32) @ warpgroup[1], kept: ptr(float32) @ warpgroup[1],
    counters: ptr(uint32) @ grid[1], words: shared(uint32[4]) @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    largest: float32[2] @ thread[1], total: float32[2] @ thread[1], unit: int32 @ warpgroup[1], leader: int32 @ warpgroup[1],
    parts: int32 @ warpgroup[1], slots: int32 @ warpgroup[1], piece: int32 @ warpgroup[1], w: int32 @ warpgroup[1],
    s: Sizes @ grid[1],
):
    """Keep a unit's part of a piece; who is done last of `s.fan` units that follow one another adds theirs up, and so on.

    Perspective: warpgroup.
    Shapes:      `parts` units from `leader` on have a part each. `w`: which `DIM` columns of the result these are. `kept`: for
                 each `w` two times `slots` slots of `s.strip` rows. `counters`: 4 for each slot. `words`: 4.
    Test:        tests/kernels/test_attention_decode.py
    """
    for h in range(2):
        for x in range(2):
            total[h] += shuffle_xor(total[h], 1 << x)
    if parts == 1:
        put(out, log, sums, largest, total, piece, w * DIM, s, LSE=LSE)
    i: int32 @ warpgroup[1] = unit - leader
    n: int32 @ warpgroup[1] = parts if parts > 1 else 0
    step: int32 @ warpgroup[1] = 1
    level: int32 @ warpgroup[1] = 0
    base: int32 @ warpgroup[1] = 2 * w * slots
    if parts > 1:
        keep(kept, base + slot_of(leader, i, piece), sums, largest, total, s.shared_by * s.tokens - piece % s.strips * 64, s)
    while n > 0:
        first: int32 @ warpgroup[1] = i / s.fan * s.fan
        members: int32 @ warpgroup[1] = min(s.fan, n - first)
        done: bool @ warpgroup[1] = is_last(counters, 4 * (base + slot_of(leader, first * step, piece)) + level, words, members)
        if done:
            add_up(
                out, log, kept, base + level % 2 * slots, base + (level + 1) % 2 * slots, leader, first * step, step, members,
                n <= s.fan, piece, w * DIM, s, DIM=DIM, LSE=LSE,
            )
        n = (n + (s.fan - 1)) / s.fan if done and n > s.fan else 0
        i = i / s.fan
        step *= s.fan
        level += 1


__all__ = ["finish"]
