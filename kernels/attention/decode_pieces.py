"""What is loaded of tiles of keys and values, and what is written of rows."""

from __future__ import annotations

from prism.kernels.attention.decode_cut import DecodeCut, Rows, Sizes
from prism.kernels.attention.softmax import LN_2
from prism.lang import (
    CUtensorMap, column, const, constexpr, count, dtype, float32, fragment, grid, group, int32, int64, log2, one,
    partition, prism, ptr, requires, row, shared, store_vector, template, thread, tma_load, vector, warp, warpgroup,
)  # fmt: skip


@prism.device
@template(T=dtype, KEYS=constexpr(int), DIM=constexpr(int), CUT=constexpr(DecodeCut))
@requires(warp[1])
def bring(
    tile: shared(T[KEYS, DIM], swizzle=128) @ warp[1], x: const(CUtensorMap(T, 1, 1, 1, CUT.box, DIM, swizzle=128)) @ grid[1],
    batch: int32 @ warp[1], head: int32 @ warp[1], first: int32 @ warp[1], length: int32 @ warp[1],
    table: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Load a tile of a sequence's keys or values from `first` on; zeros from `length` on, or for whole boxes the first one again.

    What is behind a sequence's last key may be anything, and 0 times that is not always 0. So maps end there, by an axis more
    (packed.py), and a box that has no key of the sequence is not looked for. Whatever `table` has, no page is outside of
    the cache.

    Perspective: warp.
    Test:        tests/kernels/test_attention_decode.py
    """
    with one(thread):
        for e in range(0, KEYS, CUT.together * CUT.box, unroll=1):
            page: int32[CUT.together]
            keys: int32[CUT.together]
            for p in range(CUT.together):  # all are asked for before one is waited for
                keys[p] = first + e + p * CUT.box if first + e + p * CUT.box < length else first
                page[p] = max(0, min(s.pages - 1, table[batch * s.wide + keys[p] // CUT.span])) if CUT.page > 0 else batch
            for p in range(CUT.together):
                r: int32 = keys[p] % CUT.span if CUT.page > 0 else keys[p]
                end: int32 = min(s.span, length - keys[p] + r)
                tma_load(
                    tile[e + p * CUT.box, 0], x[page[p], end, head, s.span - end + r, 0], cache="evict_first" if CUT.once else "",
                )  # fmt: skip


@prism.device
@template(T=dtype, DIM=constexpr(int), LSE=constexpr(bool))
@requires(warpgroup[1])
def put(
    out: ptr(T) @ warpgroup[1], log: ptr(float32) @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    largest: float32[2] @ thread[1], total: float32[2] @ thread[1], top: int32 @ warpgroup[1], start: int32 @ warpgroup[1],
    to: Rows @ warpgroup[1], s: Sizes @ grid[1],
):
    """Write rows of a result, or of a part: their columns from `start` on, and the logarithms of sums where `LSE`.

    Row n of a head of keys, from `top` on, is of token `n % tokens` of head `n / tokens` of those that share it.

    Perspective: warpgroup; the four threads that share rows have the same total.
    Test:        tests/kernels/test_attention_decode.py
    """
    with partition(out, thread[1], races="allow") as own, partition(log, thread[1], races="allow") as logs, group(thread[1]):
        for h in range(2):
            r: int32 = top + row(sums, 2 * h)
            if r < s.shared_by * s.tokens:
                at: int64 = to.at + r // s.tokens * to.head + r % s.tokens * to.token + start
                factor: float32 = 1 / total[h] if total[h] > 0 else 0
                for i in range(2 * h, count(sums), 4):
                    if start + column(sums, i) < s.columns_v:
                        store_vector(own[at + column(sums, i)], vector(T, 2)(T(sums[i] * factor), T(sums[i + 1] * factor)))
                if LSE and start + column(sums, 0) == 0:
                    logs[to.log + r] = (largest[h] + log2(total[h])) * LN_2


__all__ = ["bring", "put"]
