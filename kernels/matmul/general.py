"""Products of matrices of any numbers: tiles in shared memory, a square of elements a thread, in the type of the sums."""

from __future__ import annotations

from prism.kernels.sgemm.tiles import PAD, fill
from prism.lang import (
    assume, attr, block, complex64, complex128, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr,
    requires, shared, template, thread, uint32,
)  # fmt: skip
from prism.lib.thread import operators

BM, BN, BK, THREADS = 64, 64, 16, 256
EACH = 4
"""Rows of a thread, and columns."""


@prism.kernel
@template(T=dtype, TB=dtype, OUT=dtype, SUM=dtype, ALONG_A=constexpr(bool), ALONG_B=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def any_product(
    A: ptr(const(T)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], bs_a: int64 @ grid[1],
    B: ptr(const(TB)) @ grid[1], rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], bs_b: int64 @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], batch: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1],
    k: int32 @ grid[1],
):  # fmt: skip
    """`out = A @ B`, of elements that are converted to `SUM`, multiplied and added there, and converted to `OUT`.

    Perspective: grid, of a block for each 64 x 64 elements of each product, row by row.
    Shapes:      `A[p * bs_a + i * rs_a + kk * cs_a]`, `B[p * bs_b + kk * rs_b + j * cs_b]`; `out[p * batch + i * stride + j]`.
                 `ALONG_A`, `ALONG_B`: adjacent threads read elements of an operand that are adjacent along K. m, n >= 1.
    Numerics:    sums in the order of k; of integers they are unsigned, and wrap.
    Test:        tests/kernels/test_matmul.py, tests/gpu/test_matmul.py
    """
    assume(m >= 1 and n >= 1)
    across: int32 @ grid[1] = (n + (BN - 1)) // BN
    tiles: int32 @ grid[1] = (m + (BM - 1)) // BM * across
    p: int64 @ block[1] = uint32(id()) // uint32(tiles)
    top: int32 @ block[1] = uint32(id()) % uint32(tiles) // uint32(across) * BM
    left: int32 @ block[1] = uint32(id()) % uint32(tiles) % uint32(across) * BN
    with (
        partition(out, block[1], lambda y, x: p * batch + (top + y) * stride + left + x, races="none") as target, group(block[1]),
    ):  # fmt: skip
        a: shared(SUM[BK, BM + PAD])
        b: shared(SUM[BK, BN + PAD])
        t: int32 @ thread[1] = id()
        row: int32 @ thread[1] = t // (BN // EACH) * EACH
        column: int32 @ thread[1] = t % (BN // EACH) * EACH
        sums: SUM[EACH, EACH] @ thread[1]
        with group(thread[1]):
            for y in range(EACH):
                for x in range(EACH):
                    sums[y, x] = SUM()
        for first in range(0, k, BK):
            fill(
                A, p * bs_a + top * rs_a + first * cs_a, rs_a, cs_a, m - top, k - first, a, ALONG=ALONG_A, THREADS=THREADS,
            )  # fmt: skip
            fill(
                B, p * bs_b + first * rs_b + left * cs_b, cs_b, rs_b, n - left, k - first, b, ALONG=ALONG_B, THREADS=THREADS,
            )  # fmt: skip
            with group(thread[1]):
                for q in range(BK, unroll=True):
                    of_a: SUM[EACH]
                    of_b: SUM[EACH]
                    for y in range(EACH):
                        of_a[y] = a[q, row + y]
                    for x in range(EACH):
                        of_b[x] = b[q, column + x]
                    for y in range(EACH):
                        for x in range(EACH):
                            if SUM == complex64 or SUM == complex128:
                                sums[y, x] = operators.add(sums[y, x], operators.multiply(of_a[y], of_b[x]))
                            else:
                                sums[y, x] += of_a[y] * of_b[x]
        with partition(target, thread[1], lambda y, x: (row + y, column + x)) as mine, group(thread[1]):
            for y in range(EACH):
                for x in range(EACH):
                    if top + row + y < m and left + column + x < n:
                        mine[y, x] = OUT(sums[y, x])
