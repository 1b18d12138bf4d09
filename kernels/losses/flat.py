"""Gradients of cross-entropy of rows that begin anywhere and lie one behind the other: by vectors, which may be of two rows."""

from prism.kernels.activations.rows import load_piece, store_piece
from prism.kernels.losses.cross_entropy import THREADS, power
from prism.lang import (
    attr, block, const, constexpr, dtype, float32, grid, group, id, int32, int64, may_alias, partition, prism, ptr, requires,
    template, thread, uint32,
)  # fmt: skip


@prism.device
@requires(thread[1])
@template(L=dtype)
def place_of(labels: ptr(const(L)) @ grid[1], row: int64 @ thread[1], n: int64 @ grid[1]) -> int64 @ thread[1]:
    """Where the row's label is among all scores; -1, if it is no class."""
    label: int64 = int64(labels[row])
    return row * n + label if label >= 0 and label < n else int64(-1)


@prism.kernel
@template(T=dtype, L=dtype, EACH=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
@may_alias("x", "dx")
def cross_entropy_backward_flat(
    d: ptr(const(float32)) @ grid[1], x: ptr(const(T)) @ grid[1], labels: ptr(const(L)) @ grid[1],
    logs: ptr(const(float32)) @ grid[1], dx: ptr(T) @ grid[1], rows: int64 @ grid[1], n: int64 @ grid[1],
    d_apart: int64 @ grid[1], smoothing: float32 @ grid[1], ignored: int64 @ grid[1],
):
    """What `cross_entropy_backward` does, of rows that are `n` apart, wherever they begin; x and dx begin at vectors.

    Perspective: grid, a block for each `THREADS * EACH` vectors of `WIDTH` scores, at most `n`.
    Test:        tests/kernels/test_cross_entropy.py
    """
    b: int64 @ block[1] = id()
    total: int64 @ grid[1] = rows * n
    share: float32 @ grid[1] = smoothing / float32(n)
    with partition(dx, thread[1], lambda i: i, races="allow") as mine, group(block[1]):  # it may be x
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            values: float32[EACH * WIDTH]
            first: int64[EACH]  # element of the vector that is the next row's first
            positions: int64[2 * EACH]
            scales: float32[2 * EACH]
            sums: float32[2 * EACH]
            for v in range(EACH):  # all loads before the first use
                at: int64 = (b * (THREADS * EACH) + t + v * THREADS) * WIDTH
                if at < total:
                    row: int64 = int64(uint32(at) // uint32(n)) if total <= 1 << 32 else at // n
                    first[v] = (row + 1) * n - at
                    if at + WIDTH <= total:
                        load_piece(x, at, values, v * WIDTH, WIDTH=WIDTH)
                    else:
                        for k in range(WIDTH):
                            values[v * WIDTH + k] = float32(x[min(at + k, total - 1)])
                    for s in range(2):
                        of: int64 = min(row + s, rows - 1)
                        positions[2 * v + s] = place_of(labels, of, n) - at
                        scales[2 * v + s] = d[of * d_apart] if int64(labels[of]) != ignored else float32(0.0)
                        sums[2 * v + s] = logs[of]
            for v in range(EACH):
                at: int64 = (b * (THREADS * EACH) + t + v * THREADS) * WIDTH
                if at < total:
                    for k in range(WIDTH):
                        behind: bool = k >= first[v]
                        scale: float32 = scales[2 * v + 1] if behind else scales[2 * v]
                        sum: float32 = sums[2 * v + 1] if behind else sums[2 * v]
                        labelled: bool = k == (positions[2 * v + 1] if behind else positions[2 * v])
                        found: float32 = power(values[v * WIDTH + k] - sum, FAST=True) - share
                        found = found - (float32(1.0) - smoothing) if labelled else found
                        values[v * WIDTH + k] = scale * found if scale != 0 else float32(0.0)
                    if at + WIDTH <= total:
                        store_piece(mine, at, values, v * WIDTH, WIDTH=WIDTH)
                    else:
                        for k in range(WIDTH):
                            if at + k < total:
                                mine[at + k] = T(values[v * WIDTH + k])


EXAMPLES = {"cross_entropy_backward_flat": {"T": "bfloat16", "L": "int64", "EACH": 2, "WIDTH": 8}}
