"""Parts of a row's attention that several blocks have: kept in memory, counted, and added up by those that are done last."""

from __future__ import annotations

from prism.kernels.attention.softmax import LEAST, LN_2
from prism.lang import (
    atomic_add, claim, column, constexpr, count, dtype, fast_exp2_flush, float32, fragment, grid, group, id, int32, int64,
    load_vector, log2, one, partition, prism, ptr, requires, row, shared, store_relaxed, store_vector, template, thread, uint32,
    vector, warp, warpgroup,
)  # fmt: skip


@prism("device")
@requires(thread[1])
def place(
    r: int32 @ thread[1], shared_by: int32 @ thread[1], head_step: int64 @ thread[1], token_step: int64 @ thread[1]
) -> int64 @ thread[1]:
    """Where a row of head `r % shared_by` and token `r / shared_by` is."""
    return r % shared_by * head_step + r / shared_by * token_step


@prism("device")
@template(T=dtype, DIM=constexpr(int))
@requires(warpgroup[1])
def put_rows(
    x: ptr(T) @ warpgroup[1], start: int64 @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    factor: float32[2] @ thread[1], rows: int32 @ warpgroup[1], columns: int32 @ warpgroup[1], shared_by: int32 @ warpgroup[1],
    head_step: int64 @ warpgroup[1], token_step: int64 @ warpgroup[1],
):
    """Write `rows` of sums times their factors, `columns` of each.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_decode.py
    """
    with (
        partition(x, thread[1], lambda r, c: start + place(r, shared_by, head_step, token_step) + c, races="allow") as own,
        group(thread[1]),
    ):
        for i in range(0, count(sums), 2):
            r: int32 = row(sums, i)
            if r < rows and column(sums, i) < columns:
                pair: vector(T, 2)
                for e in range(2):
                    pair[e] = T(sums[i + e] * factor[i / 2 % 2])
                store_vector(own[r, column(sums, i)], pair)


@prism("device")
@requires(warpgroup[1])
def put_logs(
    x: ptr(float32) @ warpgroup[1], start: int64 @ warpgroup[1], largest: float32[2] @ thread[1], total: float32[2] @ thread[1],
    rows: int32 @ warpgroup[1], shared_by: int32 @ warpgroup[1], tokens: int32 @ warpgroup[1],
):
    """Write the logarithms of the sums of exponentials of `rows` rows.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_decode.py
    """
    t: int32 @ thread[1] = id()
    with (
        partition(x, thread[1], lambda r: start + place(r, shared_by, int64(tokens), int64(1)), races="allow") as own,
        group(thread[1]),
    ):
        for h in range(2):
            r: int32 = t / 32 * 16 + t % 32 / 4 + 8 * h
            if t % 4 == 0 and r < rows:
                own[r] = (largest[h] + log2(total[h])) * LN_2


@prism("device")
@template(DIM=constexpr(int))
@requires(warpgroup[1])
def keep(
    kept: ptr(float32) @ warpgroup[1], start: int64 @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    ones: float32[2] @ thread[1], largest: float32[2] @ thread[1], total: float32[2] @ thread[1], rows: int32 @ warpgroup[1],
):
    """Write a part: of each row its sums, not divided by their total, then its largest score and its total, then two of no use.

    Perspective: warpgroup.
    Test:        tests/kernels/test_attention_decode.py
    """
    put_rows(kept, start, sums, ones, rows, DIM, 64, DIM + 4, 0)
    t: int32 @ thread[1] = id()
    with partition(kept, thread[1], lambda r: start + r * (DIM + 4) + DIM, races="allow") as own, group(thread[1]):
        for h in range(2):
            r: int32 = t / 32 * 16 + t % 32 / 4 + 8 * h
            if t % 4 == 0 and r < rows:
                store_vector(own[r], vector(float32, 2)(largest[h], total[h]))


@prism("device")
@requires(warpgroup[1])
def is_last(
    counters: ptr(uint32) @ grid[1], which: int64 @ warpgroup[1], words: shared(uint32[4]) @ warpgroup[1],
    parts: int32 @ warpgroup[1],
) -> bool @ warpgroup[1]:
    """Count that the warpgroup has kept its part; whether all `parts` are: then they can be read, and the count is 0 again.

    Perspective: warpgroup.
    Shapes:      `words`: of no meaning; all warps write them before one counts, and read one behind that.
    Test:        tests/kernels/test_attention_decode.py
    """
    w: int32 @ warp[1] = id()
    with partition(words, warp[1], w) as part, group(warp[1]), claim(part, thread[1]) as own, one(thread):
        own[0] = 0
    with claim(words, thread[1]) as all, one(thread):
        before: uint32 = atomic_add(counters[which], 1 + all[3], order="acq_rel")
        all[0] = before
        if before + 1 == uint32(parts):
            store_relaxed(counters[which], 0)
    found: uint32 @ warpgroup[1] = words[0]
    return found + 1 == uint32(parts)


@prism("device")
@requires(thread[1])
def slot_of(leader: int64 @ thread[1], part: int32 @ thread[1]) -> int64 @ thread[1]:
    """The slot of a part of which the first is unit `leader`'s: its second is of what it begins, its first of what it goes on with."""
    return 2 * (leader + part) + (1 if part == 0 else 0)


@prism("device")
@template(T=dtype, DIM=constexpr(int), LSE=constexpr(bool))
@requires(warpgroup[1])
def add_up(
    out: ptr(T) @ warpgroup[1], log: ptr(float32) @ warpgroup[1], kept: ptr(float32) @ warpgroup[1], read: int64 @ warpgroup[1],
    write: int64 @ warpgroup[1], leader: int64 @ warpgroup[1], first: int32 @ warpgroup[1], step: int32 @ warpgroup[1],
    parts: int32 @ warpgroup[1], final: bool @ warpgroup[1], rows: int32 @ warpgroup[1], columns: int32 @ warpgroup[1],
    shared_by: int32 @ warpgroup[1], tokens: int32 @ warpgroup[1], o_start: int64 @ warpgroup[1], log_start: int64 @ warpgroup[1],
    head_step: int64 @ warpgroup[1], token_step: int64 @ warpgroup[1],
):
    """Add up `parts` parts from `first` on, each `step`th, and write the result, or, where there are more, another part.

    Perspective: warpgroup.
    Numerics:    in the order of the parts, whatever the order in which they were kept.
    Test:        tests/kernels/test_attention_decode.py
    """
    WIDE: constexpr(int) = DIM + 4
    t: int32 @ thread[1] = id()
    target: int64 @ thread[1] = (write + slot_of(leader, first)) * rows * WIDE
    with (
        partition(out, thread[1], lambda r, c: o_start + place(r, shared_by, head_step, token_step) + c, races="allow") as own_out,
        partition(log, thread[1], lambda r: log_start + place(r, shared_by, int64(tokens), int64(1)), races="allow") as own_log,
        partition(kept, thread[1], lambda i: i, races="allow") as all, group(thread[1]),
    ):
        for e in range(4 * t, rows * DIM, 512):
            r: int32 = e / DIM
            c: int32 = e % DIM
            sums: vector(float32, 4) = vector(float32, 4)(0)
            largest: float32 = LEAST
            total: float32 = 0
            for p in range(0, parts, unroll=8):
                at: int64 = (read + slot_of(leader, first + p * step)) * rows * WIDE + r * WIDE
                facts: vector(float32, 2) = load_vector(all[at + DIM], 2)
                top: float32 = max(largest, facts[0])
                before: float32 = fast_exp2_flush(largest - top)
                factor: float32 = fast_exp2_flush(facts[0] - top)
                sums = sums * before + load_vector(all[at + c], 4) * factor
                total = total * before + facts[1] * factor
                largest = top
            if final:
                if c < columns:
                    few: vector(T, 4)
                    for i in range(4):
                        few[i] = T(sums[i] / total) if total > 0 else T(0)
                    store_vector(own_out[r, c], few)
                if LSE and c == 0:
                    own_log[r] = (largest + log2(total)) * LN_2
            else:
                store_vector(all[target + r * WIDE + c], sums)
                if c == 0:
                    facts: vector(float32, 2) = vector(float32, 2)(largest, total)
                    store_vector(all[target + r * WIDE + DIM], facts)


__all__ = ["add_up", "is_last", "keep", "place", "put_logs", "put_rows", "slot_of"]
