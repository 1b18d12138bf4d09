"""A sparse matrix (CSR) times a vector: a few lanes a row, as many as suit the matrix, and their sums by shuffles."""

import numpy as np

import prism
from prism.lang import (
    claim, const, constexpr, float32, grid, group, id, int32, one, partition, ptr, requires, template, thread, warp,
)
from prism.lib.thread import operators

THREADS = 128


@prism.kernel
@template(LANES=constexpr(int))
@requires(grid[1], thread[32])
def rows_times(
    starts: ptr(const(int32)) @ grid[1], columns: ptr(const(int32)) @ grid[1], values: ptr(const(float32)) @ grid[1],
    x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], rows: int32 @ grid[1],
):
    row: int32 @ thread[LANES] = id()
    i: int32 @ thread[1] = id()
    with partition(y, thread[LANES], row) as own, group(warp[1]):
        sum: float32 @ thread[1] = 0
        with group(thread[1]):
            if row < rows:
                for k in range(starts[row] + i % LANES, starts[row + 1], LANES):
                    sum += values[k] * x[columns[k]]
        sum = warp.reduce_groups(sum, SIZE=LANES, OP=operators.add)  # needs whole warps: lanes without a row bring a zero
        with group(thread[LANES]), claim(own, thread[1]) as mine, one(thread):
            if row < rows:
                mine[0] = sum


def spmv(starts, columns, values, x):
    """Return the product of a matrix in CSR with the vector `x`, as arrays of NumPy or CuPy.

    `values` and `x` are float32, `columns` and `starts` int32: row r's elements are `values[starts[r] : starts[r + 1]]`.
    """
    rows = starts.size - 1
    y = (0 * starts[1:]).astype(values.dtype)  # on the same device
    lanes = next((lanes for lanes in (4, 8, 16) if values.size <= 2 * lanes * rows), 32)  # two elements a lane, on average
    blocks = -(-rows * lanes // THREADS)
    if blocks:
        rows_times[blocks, THREADS](starts, columns, values, x, y, rows, template={"LANES": lanes})
    return y


def random_matrix(rows, columns, density, seed=0):
    """A random matrix in CSR: `starts`, `columns` and `values`."""
    random = np.random.default_rng(seed)
    dense = random.random((rows, columns)) < density
    starts = np.concatenate([[0], dense.sum(axis=1).cumsum()]).astype(np.int32)
    return starts, dense.nonzero()[1].astype(np.int32), random.normal(size=starts[-1]).astype(np.float32)


def reference(starts, columns, values, x):
    """The same in NumPy, in float64."""
    rows = np.arange(starts.size - 1).repeat(np.diff(starts))
    return np.bincount(rows, values.astype(np.float64) * x[columns], minlength=starts.size - 1)


if __name__ == "__main__":
    starts, columns, values = random_matrix(1000, 700, 0.03)
    x = np.random.default_rng(1).random(700, np.float32)
    right = reference(starts, columns, values, x)
    print("off NumPy's by at most", np.abs(spmv(starts, columns, values, x) - right).max())
