"""Parts of a row's attention that several blocks have: kept in memory, counted, and added up by the one that is done last."""

from __future__ import annotations

from prism.kernels.attention.softmax import LEAST
from prism.lang import (
    atomic_add, claim, constexpr, count, fast_exp2_flush, float32, fragment, grid, group, id, int32, int64, load_vector, one,
    partition, prism, ptr, requires, shared, shuffle_xor, store_relaxed, store_vector, template, thread, uint32, vector, warp,
    warpgroup,
)  # fmt: skip


@prism("device")
@template(DIM=constexpr(int), HALVES=constexpr(int))
@requires(warpgroup[1])
def keep(
    sums: fragment(float32, 64, DIM) @ warpgroup[1], largest: float32[2] @ thread[1], total: float32[2] @ thread[1],
    kept: ptr(float32) @ warpgroup[1], marked: ptr(float32) @ warpgroup[1], slot: int64 @ warpgroup[1],
    rows: int32 @ warpgroup[1],
):
    """Write a part's sums, not divided by their total, to `kept`, and each row's largest score and total to `marked`.

    Perspective: warpgroup; warps that have none of the `rows` write nothing.
    Shapes:      a slot of `kept` has `32 * DIM * HALVES` elements, as threads hold them; one of `marked` has 512.
    Test:        tests/kernels/test_attention_decode.py
    """
    WIDTH: constexpr(int) = 2 * HALVES
    t: int32 @ thread[1] = id()
    with (
        partition(kept, thread[1], lambda i: slot * (32 * DIM * HALVES) + (i * 32 + t) * WIDTH, races="allow") as own,
        partition(marked, thread[1], lambda i: slot * 512 + 4 * t + i, races="allow") as mark, group(thread[1]),
    ):
        if t / 32 * 16 < rows:
            for i in range(0, count(sums), 4):
                few: vector(float32, WIDTH)
                for e in range(WIDTH):
                    few[e] = sums[i + e]
                store_vector(own[i], few)
            facts: vector(float32, 4)
            for h in range(HALVES):
                facts[2 * h] = largest[h]
                facts[2 * h + 1] = total[h]
            store_vector(mark[0], facts)


@prism("device")
@requires(warp[1])
def is_last(
    counters: ptr(uint32) @ grid[1], which: int32 @ warp[1], words: shared(uint32[32]) @ warp[1], parts: int32 @ warp[1],
) -> bool @ warp[1]:
    """Count that the warp has kept its part; whether all `parts` are: then they can be read, and the count is 0 again.

    Perspective: warp.
    Shapes:      `words`: of no meaning; all lanes write them before one counts, and read one behind that.
    Test:        tests/kernels/test_attention_decode.py
    """
    lane: int32 @ thread[1] = id()
    with partition(words, thread[1], lane) as own, group(thread[1]):
        own[0] = 0
    with claim(words, thread[1]) as all, one(thread):
        before: uint32 = atomic_add(counters[which], 1 + all[31], order="acq_rel")
        all[0] = before
        if before + 1 == uint32(parts):
            store_relaxed(counters[which], 0)
    found: uint32 @ warp[1] = words[0]
    return found + 1 == uint32(parts)


@prism("device")
@template(DIM=constexpr(int), HALVES=constexpr(int))
@requires(warpgroup[1])
def add_up(
    sums: fragment(float32, 64, DIM) @ warpgroup[1], largest: float32[2] @ thread[1], total: float32[2] @ thread[1],
    kept: ptr(float32) @ warpgroup[1], marked: ptr(float32) @ warpgroup[1], first: int64 @ warpgroup[1], parts: int32 @ warp[1],
):
    """Add up so many parts, or nothing where `parts` is 0; `first` is the slot of the first one.

    Perspective: warpgroup.
    Numerics:    in the order of the slots, whatever the order in which they were kept.
    Test:        tests/kernels/test_attention_decode.py
    """
    WIDTH: constexpr(int) = 2 * HALVES
    AT_ONCE: constexpr(int) = 4 if HALVES == 1 and DIM <= 128 else 1  # more do not fit into registers
    t: int32 @ thread[1] = id()
    top: float32[2] @ thread[1] = [LEAST, LEAST]
    with group(thread[1]):
        for p in range(t % 4, parts, 4, unroll=4):  # the four threads that share rows look at a quarter each
            facts: vector(float32, 4) = load_vector(marked[slot_of(first, p) * 512 + 4 * t], 4)
            for h in range(HALVES):
                top[h] = max(top[h], facts[2 * h])
    for h in range(HALVES):
        for s in range(2):
            top[h] = max(top[h], shuffle_xor(top[h], 1 << s))
    with group(thread[1]):
        if parts > 0:
            for h in range(HALVES):
                largest[h] = top[h]
                total[h] = 0
            for i in range(count(sums)):
                sums[i] = 0
        for p in range(0, parts, unroll=AT_ONCE):
            slot: int64 = slot_of(first, p)
            facts: vector(float32, 4) = load_vector(marked[slot * 512 + 4 * t], 4)
            factor: float32[2]
            for h in range(HALVES):
                factor[h] = fast_exp2_flush(facts[2 * h] - largest[h])
                total[h] += factor[h] * facts[2 * h + 1]
            for i in range(0, count(sums), 4):
                few: vector(float32, WIDTH) = load_vector(kept[slot * (32 * DIM * HALVES) + (i * 32 + t) * WIDTH], WIDTH)
                for e in range(WIDTH):
                    sums[i + e] += factor[e / 2] * few[e]


@prism("device")
@requires(thread[1])
def slot_of(first: int64 @ thread[1], part: int32 @ thread[1]) -> int64 @ thread[1]:
    """The slot of a part: a block's first slot is that of what it goes on with, the second that of what it begins."""
    return first if part == 0 else first - 1 + 2 * part


__all__ = ["add_up", "is_last", "keep", "slot_of"]
