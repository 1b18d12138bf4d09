"""Tensor cores by hand (the paper's main figure, and its appendix "Example").

A warp multiplies fragments that are spread over its lanes' registers, in the layout that the hardware prescribes; a block
puts the tiles into shared memory that the warp reads. Multiplications are in tf32: float32 with 10 bits of fraction.
"""

from prism.lang import (
    block, claim, const, count, float32, float_as_uint, grid, group, id, int32, mma_m16n8k8_tf32, partition, prism, ptr,
    requires, shared, split, thread, uint32, warp,
)


@prism.device
@requires(warp[1])
def simple_mma(a: ptr(const(float32)) @ warp[1], b: ptr(const(float32)) @ warp[1], c: ptr(float32) @ warp[1]):
    """Add the product of `a`, `16 x 8`, and `b`, `8 x 8`, to `c`, `16 x 8`: all row by row, 8 elements a row.

    Whoever reads `c` next gets a barrier of the warp before it.
    Source: PTX ISA, "Matrix Fragments for mma.m16n8k8".
    """
    lane: int32 @ thread[1] = id()
    row: int32 @ thread[1] = lane // 4
    col: int32 @ thread[1] = lane % 4
    left: uint32[4] @ thread[1]
    right: uint32[2] @ thread[1]
    sums: float32[4] @ thread[1] = {0}
    left[0] = float_as_uint(a[row * 8 + col])
    left[1] = float_as_uint(a[(row + 8) * 8 + col])
    left[2] = float_as_uint(a[row * 8 + col + 4])
    left[3] = float_as_uint(a[(row + 8) * 8 + col + 4])
    right[0] = float_as_uint(b[col * 8 + row])
    right[1] = float_as_uint(b[(col + 4) * 8 + row])
    mma_m16n8k8_tf32(left, right, sums)
    with partition(c, thread[1], offset=row * 8 + 2 * col) as mine:
        with group(thread[1]):
            mine[0] += sums[0]
            mine[1] += sums[1]
            mine[8 * 8] += sums[2]
            mine[8 * 8 + 1] += sums[3]


@prism.kernel
@requires(grid[1], block[1], warp[1])
def tf32(
    A: ptr(const(float32)) @ grid[1], B: ptr(const(float32)) @ grid[1], C: ptr(float32) @ grid[1], M: int32 @ grid[1],
    N: int32 @ grid[1], K: int32 @ grid[1],
):
    """`C = A @ B` in tf32, row-major: a block computes `16 x 8` elements, and its first warp does the multiplying.

    Perspective: grid, of one block a tile, in rows; any number of warps a block, all of which copy.
    Shapes:      `A`: `M x K`, `B`: `K x N`, `C`: `M x N`, of any sizes.
    Repaired:    the paper claims `C` for one block and lets all use it: here each gets its part. Its zeros cover a part
                 of the tile only, as the figure has it. No size had a guard. The partitions stand outside the loops over
                 elements: inside, each trip would be a use of its own, with a barrier before it.
    Test:        tests/examples/test_paper.py
    """
    across: int32 @ grid[1] = (N + 7) // 8
    top: int32 @ block[1] = id() // across * 16
    left: int32 @ block[1] = id() % across * 8
    with partition(C, block[1], offset=top * N + left) as target:
        with group(block[1]):
            a: shared(float32[16 * 8]) @ block[1]
            b: shared(float32[8 * 8]) @ block[1]
            c: shared(float32[16 * 8]) @ block[1]
            t: int32 @ thread[1] = id()
            threads: int32 @ block[1] = count(thread[1])
            with partition(c, thread[1]) as mine:
                with group(thread[1]):
                    for i in range(t, 16 * 8, threads):
                        mine[i] = 0.0
            for first in range(0, K, 8):
                with partition(a, thread[1]) as mine:
                    with group(thread[1]):
                        for i in range(t, 16 * 8, threads):
                            m: int32 = top + i // 8
                            k: int32 = first + i % 8
                            mine[i] = A[m * K + k] if m < M and k < K else 0.0
                with partition(b, thread[1]) as mine:
                    with group(thread[1]):
                        for i in range(t, 8 * 8, threads):
                            k: int32 = first + i // 8
                            n: int32 = left + i % 8
                            mine[i] = B[k * N + n] if k < K and n < N else 0.0
                with claim(c, warp[1]) as own:
                    match split(warp):
                        case 1:
                            simple_mma(a, b, own)
            with partition(target, thread[1]) as mine:
                with group(thread[1]):
                    for i in range(t, 16 * 8, threads):
                        if top + i // 8 < M and left + i % 8 < N:
                            mine[i // 8 * N + i % 8] = c[i]
