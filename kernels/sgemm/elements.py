"""Products in float32, one element of the result a thread: the first two of five variants.

All five compute `C = alpha * A @ B + beta * C` for each product of a batch; `C` is not read where `beta` is 0. `A` is `M x K`,
`B` is `K x N`, of any strides; `C` is `M x N`, its rows' elements one after the other. Strides are in elements: `rs` from a row
to the next, `cs` from a column to the next, `bs` from a matrix of the batch to the next. M and N are at least 1, K at least 0,
all of them less than 2^31 - 1000; addresses are 64-bit. Products are added in float32, in the order of k.
"""

from prism.lang import (
    block, const, constexpr, float32, grid, group, id, int32, int64, partition, prism, ptr, requires, template, thread,
)


@prism.kernel
@requires(grid[1], block[1], thread[1])
def naive(
    batches: int32 @ grid[1], M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1],
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], bs_a: int64 @ grid[1],
    B: ptr(const(float32)) @ grid[1], rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], bs_b: int64 @ grid[1],
    beta: float32 @ grid[1], C: ptr(float32) @ grid[1], rs_c: int64 @ grid[1], bs_c: int64 @ grid[1],
):
    """A thread computes one element. They are numbered down the columns: the threads of a warp read a row of `A` each.

    Perspective: grid, of at least `batches * M * N` threads, in blocks of any size.
    Test:        tests/kernels/test_sgemm.py, tests/gpu/test_sgemm.py
    """
    t: int64 @ thread[1] = id()
    p: int64 @ thread[1] = t // (int64(M) * N)
    row: int64 @ thread[1] = t % M
    col: int64 @ thread[1] = t // M % N
    with partition(C, thread[1], offset=p * bs_c + row * rs_c + col) as element, group(thread[1]):
        if p < batches:
            sum: float32 = 0.0
            for k in range(K):
                sum += A[p * bs_a + row * rs_a + k * cs_a] * B[p * bs_b + k * rs_b + col * cs_b]
            element[0] = alpha * sum + (beta * element[0] if beta != 0.0 else 0.0)


@prism.kernel
@template(TILE=constexpr(int))
@requires(grid[1], block[1], thread[1])
def coalesced(
    batches: int32 @ grid[1], M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1],
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], bs_a: int64 @ grid[1],
    B: ptr(const(float32)) @ grid[1], rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], bs_b: int64 @ grid[1],
    beta: float32 @ grid[1], C: ptr(float32) @ grid[1], rs_c: int64 @ grid[1], bs_c: int64 @ grid[1],
):
    """As `naive`, numbered along the rows of square tiles: a warp reads elements of `B` that lie side by side, one of `A`.

    Perspective: grid, of at least `TILE * TILE` threads for each tile of each product, in blocks of any size.
    Test:        tests/kernels/test_sgemm.py, tests/gpu/test_sgemm.py
    """
    t: int64 @ thread[1] = id()
    across: int32 @ grid[1] = (N + TILE - 1) // TILE
    tiles: int32 @ grid[1] = (M + TILE - 1) // TILE * across
    p: int64 @ thread[1] = t // (TILE * TILE) // tiles
    tile: int64 @ thread[1] = t // (TILE * TILE) % tiles
    row: int64 @ thread[1] = tile // across * TILE + t // TILE % TILE
    col: int64 @ thread[1] = tile % across * TILE + t % TILE
    with partition(C, thread[1], offset=p * bs_c + row * rs_c + col) as element, group(thread[1]):
        if p < batches and row < M and col < N:
            sum: float32 = 0.0
            for k in range(K):
                sum += A[p * bs_a + row * rs_a + k * cs_a] * B[p * bs_b + k * rs_b + col * cs_b]
            element[0] = alpha * sum + (beta * element[0] if beta != 0.0 else 0.0)
