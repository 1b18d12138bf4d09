"""The sum of a product's shares of K: what is to be done after `hgemm` made each of them, in float32, below each other.

Where a result has few tiles and K is long, blocks that each have a share of K make a tile. They leave it in memory, and need not
run at once, as those of a cluster must.
"""

from __future__ import annotations

from prism.kernels.hgemm.cut import Terms
from prism.lang import (
    assume, const, constexpr, dtype, float4, float4_cast, float32, function, grid, group, id, int32, int64, partition, prism, ptr,
    requires, store_vector, strides_nest, template, thread, vector,
)  # fmt: skip

THREADS = 256
EACH = 4
"""Columns of a thread."""
AT_ONCE = 8
"""Shares that are loaded at a time."""


@prism.kernel
@template(OUT=dtype, TBIAS=dtype, TERMS=constexpr(Terms), EPILOGUE=function, WIDE=constexpr(bool))
@requires(grid[1], thread[1])
def add_shares(
    shares: ptr(const(float32)) @ grid[1], count: int32 @ grid[1], rows: int32 @ grid[1], pitch: int32 @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], alpha: float32 @ grid[1],
    bias: ptr(const(TBIAS)) @ grid[1], scale_a: ptr(const(float32)) @ grid[1], scale_b: ptr(const(float32)) @ grid[1],
):
    """`out = EPILOGUE(alpha * (the sum of the shares) + bias)`: of `count` shares, in their order.

    Perspective: grid, of at least a thread for each `EACH` columns of each row.
    Shapes:      `shares`: matrices of `rows` by `pitch`, a multiple of 4, below each other, at a multiple of 16 bytes; of each
                 the first m x n count. `out`: m x n, its rows `stride` elements apart, all at multiples of `EACH` elements, as is
                 n, where `WIDE`. `TERMS`: what there is of `bias`, `scale_a`, `scale_b`.
    Cost:        one pass over the shares.
    Test:        tests/kernels/test_hgemm_shares.py, tests/gpu/test_hgemm.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(m, stride, n, 1))
    across: int32 @ grid[1] = (n + (EACH - 1)) // EACH
    t: int64 @ thread[1] = id()
    y: int32 @ thread[1] = t // across
    x: int32 @ thread[1] = t % across * EACH
    with partition(out, thread[1], lambda v: y * stride + x + v, races="none") as mine, group(thread[1]):
        if y < m:
            sums: float4 = {0}
            at: int64 = int64(y) * pitch + x
            step: int64 = int64(rows) * pitch
            for first in range(0, count, AT_ONCE, unroll=1):
                parts: float4[AT_ONCE]
                for p in range(AT_ONCE):  # all are asked for before one is waited for: beyond the last, that again
                    parts[p] = float4_cast(shares[at + min(first + p, count - 1) * step])
                for p in range(AT_ONCE):
                    for v in range(EACH):
                        sums[v] += parts[p][v] if first + p < count else 0.0
            found: float32[EACH]
            for v in range(EACH):
                found[v] = alpha * sums[v]
                if x + v < n:
                    if TERMS.scale_a > 0:
                        found[v] *= scale_a[y if TERMS.scale_a == 2 else 0]
                    if TERMS.scale_b > 0:
                        found[v] *= scale_b[x + v if TERMS.scale_b == 2 else 0]
                    if TERMS.bias > 0:
                        found[v] += float32(bias[y if TERMS.bias == 2 else x + v])
                found[v] = EPILOGUE(found[v])
            if WIDE:
                store_vector(mine[0], vector(OUT, EACH)(OUT(found[0]), OUT(found[1]), OUT(found[2]), OUT(found[3])))
            else:
                for v in range(EACH):
                    if x + v < n:
                        mine[v] = OUT(found[v])
