"""Of tiles of keys and values, what is loaded and cleared; of rows, what is written."""

from __future__ import annotations

from prism.kernels.attention.decode_cut import DecodeCut, Rows, Sizes
from prism.kernels.attention.softmax import LN_2
from prism.lang import (
    CUtensorMap, block, column, const, constexpr, count, dtype, float32, fragment, grid, group, id, int32, int64, log2, one,
    partition, prism, ptr, requires, row, shared, store_vector, template, thread, tma_load, vector, warp, warpgroup,
)  # fmt: skip


@prism("device")
@template(T=dtype, KEYS=constexpr(int), DIM=constexpr(int), CUT=constexpr(DecodeCut))
@requires(warp[1])
def bring(
    tile: shared(T[KEYS, DIM], swizzle=128) @ warp[1], x: const(CUtensorMap(T, 1, 1, CUT.box, DIM, swizzle=128)) @ grid[1],
    batch: int32 @ warp[1], head: int32 @ warp[1], first: int32 @ warp[1], length: int32 @ warp[1],
    table: ptr(const(int32)) @ grid[1], s: Sizes @ grid[1],
):  # fmt: skip
    """Load a tile of a sequence's keys or values from `first` on; zeros, in place of pages from `length` on.

    Perspective: warp.
    Test:        tests/kernels/test_attention_decode.py
    """
    with one(thread):
        if CUT.page > 0:
            pages: int32[CUT.together]
            for e in range(0, KEYS, CUT.together * CUT.box, unroll=1):
                for p in range(CUT.together):  # all are asked for before one is waited for
                    at: int32 = first + e + p * CUT.box
                    pages[p] = table[batch * s.wide + at / CUT.page] if at < length else s.pages
                for p in range(CUT.together):
                    r: int32 = e + p * CUT.box
                    tma_load(tile[r, 0], x[pages[p], head, (first + r) % CUT.page, 0], cache="evict_first" if CUT.once else "")
        else:
            tma_load(tile, x[batch, head, first, 0], cache="evict_first" if CUT.once else "")


@prism("device")
@template(T=dtype, KEYS=constexpr(int), DIM=constexpr(int), THREADS=constexpr(int))
@requires(thread[THREADS])
def clear_rows(tile: shared(T[KEYS, DIM], swizzle=128) @ thread[THREADS], first: int32 @ thread[THREADS]):
    """Give zeros to rows from `first` on: behind a sequence's last key may be anything, and 0 times that is not always 0.

    Perspective: `THREADS` threads.
    Test:        tests/kernels/test_attention_decode.py
    """
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], lambda e: (e / DIM, e % DIM)) as own, group(thread[1]):
        for e in range(first * DIM + 8 * t, KEYS * DIM, 8 * THREADS):
            store_vector(own[e], vector(T, 8)(0))


@prism("device")
@template(T=dtype, DIM=constexpr(int), LSE=constexpr(bool))
@requires(warpgroup[1])
def put(
    out: ptr(T) @ warpgroup[1], log: ptr(float32) @ warpgroup[1], sums: fragment(float32, 64, DIM) @ warpgroup[1],
    largest: float32[2] @ thread[1], total: float32[2] @ thread[1], top: int32 @ warpgroup[1], start: int32 @ warpgroup[1],
    to: Rows @ warpgroup[1], s: Sizes @ grid[1],
):
    """Write rows of a result, or of a part: their columns from `start` on, and the logarithms of sums where `LSE`.

    Row n of a head of keys, from `top` on, is head `n % shared_by`, of those that share it, of token `n / shared_by`.

    Perspective: warpgroup; the four threads that share rows have the same total.
    Test:        tests/kernels/test_attention_decode.py
    """
    lane: int32 @ thread[1] = id() % 4
    with (
        partition(out, thread[1], lambda h, n, c: to.at + h * to.head + n * to.token + c, races="allow") as own,
        partition(log, thread[1], lambda h, n: to.log + h * to.log_head + n * to.log_token, races="allow") as logs,
        group(thread[1]),
    ):
        for h in range(2):
            r: int32 = top + row(sums, 2 * h)
            if r < s.shared_by * s.tokens:
                share: int32 = r % s.shared_by
                token: int32 = r / s.shared_by
                factor: float32 = 1 / total[h] if total[h] > 0 else 0
                for i in range(0, count(sums), 4):
                    c: int32 = start + column(sums, i)
                    if c < s.columns_v:
                        two: vector(T, 2) = vector(T, 2)(T(sums[i + 2 * h] * factor), T(sums[i + 2 * h + 1] * factor))
                        store_vector(own[share, token, c], two)
                if LSE and start + lane == 0:
                    logs[share, token] = (largest[h] + log2(total[h])) * LN_2


__all__ = ["bring", "clear_rows", "put"]
