"""A copy of a matrix as tensor copies want it: row-major, rows at multiples of 16 bytes, or of what else they are to begin at."""

from __future__ import annotations

from prism.lang import (
    assume, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    strides_nest, template, thread,
)

SIDE = 64  # of a block's tile
THREADS = 256
EACH = SIDE * SIDE // THREADS
PITCH = SIDE + 1  # elements of shared memory from a row of the tile to the next: a column's lie in banks of their own


@prism.kernel
@template(T=dtype, TRANSPOSE=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def pack(
    x: ptr(const(T)) @ grid[1], rs: int64 @ grid[1], cs: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1],
    out: ptr(T) @ grid[1], stride: int64 @ grid[1],
):
    """`out[i * stride + j] = x[i * rs + j * cs]`, through a tile in shared memory.

    Perspective: grid, of a block for each 64 x 64 elements.
    Shapes:      `x`: m x n, of any strides; adjacent threads read elements of a column where `TRANSPOSE`, else of a row. `out`:
                 m x n, its rows `stride` elements apart. m, n at least 1.
    Cost:        one pass; 16.25 KiB of shared memory, one barrier.
    Test:        tests/kernels/test_sgemm_ring.py, tests/gpu/test_sgemm.py
    """
    assume(n >= 1 and strides_nest(m, stride, n, 1))
    across: int32 @ grid[1] = (n - 1) // SIDE + 1
    top: int32 @ block[1] = id() // across * SIDE
    left: int32 @ block[1] = id() % across * SIDE
    with partition(out, block[1], lambda i, j: (top + i) * stride + left + j, races="none") as target, group(block[1]):
        assume(count(thread[1]) <= THREADS)
        tile: shared(T[SIDE * PITCH])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda i, j: i * PITCH + j) as mine, group(thread[1]):
            loaded: T[EACH]
            for v in range(EACH):  # all loads before the first store: the compiler doesn't move one past the other
                e: int32 = t + v * THREADS
                i: int32 = e % SIDE if TRANSPOSE else e // SIDE
                j: int32 = e // SIDE if TRANSPOSE else e % SIDE
                loaded[v] = x[(top + i) * rs + (left + j) * cs] if top + i < m and left + j < n else T(0.0)
            for v in range(EACH):
                e: int32 = t + v * THREADS
                mine[e % SIDE if TRANSPOSE else e // SIDE, e // SIDE if TRANSPOSE else e % SIDE] = loaded[v]
        with partition(target, thread[1], lambda i, j: (i, j), races="none") as mine, group(thread[1]):
            for v in range(EACH):
                i: int32 = (t + v * THREADS) // SIDE
                j: int32 = (t + v * THREADS) % SIDE
                if top + i < m and left + j < n:
                    mine[i, j] = tile[i * PITCH + j]
