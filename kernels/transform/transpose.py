"""Matrices with their axes exchanged, through tiles in shared memory: what works along rows reaches columns by it."""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, shared, template,
    thread,
)

THREADS = 256


@prism.kernel
@template(T=dtype, ROWS=constexpr(int), COLUMNS=constexpr(int), PITCH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def transpose(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], rows: int64 @ grid[1], columns: int64 @ grid[1]):
    """`y[b, j, i] = x[b, i, j]`.

    Perspective: grid, a block for each tile of `ROWS` x `COLUMNS` elements, of all matrices.
    Shapes:      `x`: matrices of `rows` x `columns`, both at least 1, one behind the other; `y`: as many, of `columns` x `rows`.
                 `PITCH`: elements of shared memory from a row of the tile to the next, so that a column's lie in banks of their
                 own.
    Cost:        one pass; a tile of shared memory, one barrier.
    Test:        tests/kernels/test_transform.py
    """
    EACH: constexpr(int) = ROWS * COLUMNS // THREADS
    across: int64 @ grid[1] = (columns - 1) // COLUMNS + 1
    down: int64 @ grid[1] = (rows - 1) // ROWS + 1
    first: int64 @ block[1] = id() // (across * down) * (rows * columns)
    top: int64 @ block[1] = id() // across % down * ROWS
    left: int64 @ block[1] = id() % across * COLUMNS
    with partition(y, block[1], lambda j, i: first + (left + j) * rows + top + i, races="none") as target, group(block[1]):
        tile: shared(T[ROWS * PITCH])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda i, j: i * PITCH + j) as mine, group(thread[1]):
            loaded: T[EACH]
            for v in range(EACH):  # all loads before the first store: the compiler doesn't move one past the other
                i: int32 = (t + v * THREADS) // COLUMNS
                j: int32 = (t + v * THREADS) % COLUMNS
                if top + i < rows and left + j < columns:
                    loaded[v] = x[first + (top + i) * columns + left + j]
            for v in range(EACH):
                i: int32 = (t + v * THREADS) // COLUMNS
                j: int32 = (t + v * THREADS) % COLUMNS
                if top + i < rows and left + j < columns:
                    mine[i, j] = loaded[v]
        with partition(target, thread[1], lambda j, i: (j, i), races="none") as mine, group(thread[1]):
            for v in range(EACH):
                j: int32 = (t + v * THREADS) // ROWS
                i: int32 = (t + v * THREADS) % ROWS
                if top + i < rows and left + j < columns:
                    mine[j, i] = tile[i * PITCH + j]


EXAMPLES = {"transpose": {"T": "uint32", "ROWS": 64, "COLUMNS": 64, "PITCH": 65}}
