"""The softmax of each row of a matrix: a block a row, which stays in registers from its one load to its one store."""

import numpy as np

import prism
from prism.lang import (
    block, const, constexpr, exp, float32, grid, group, id, int32, partition, ptr, requires, template, thread,
)
from prism.lib.thread import operators

THREADS = 128


@prism.kernel
@template(ITEMS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def softmax_rows(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], columns: int32 @ grid[1], least: float32 @ grid[1]):
    row: int32 @ block[1] = id()
    with partition(x, block[1], row * columns) as source, partition(y, block[1], row * columns) as target:
        with group(block[1]):
            items: float32[ITEMS] @ thread[1]
            block.load_striped(source, items, columns, least)  # beyond the row: -inf, of which exp is 0
            own: float32 @ thread[1] = thread.reduce(items, OP=operators.maximum)
            largest: float32 @ block[1] = block.reduce(own, OP=operators.maximum)
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = exp(items[k] - largest)
            own = thread.reduce(items, OP=operators.add)
            total: float32 @ block[1] = block.reduce(own, OP=operators.add)
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = items[k] / total
            block.store_striped(target, items, columns)


def softmax(x):
    """Return the softmax of each row of a float32 matrix of NumPy or CuPy: C-contiguous, at most 2^31 elements, not empty."""
    y = x.copy()
    items = -(-x.shape[1] // THREADS)  # elements of a row in each thread: every such number is compiled once
    softmax_rows[x.shape[0], THREADS](x, y, x.shape[1], np.float32(-np.inf), template={"ITEMS": items})
    return y


def reference(x):
    """The same in NumPy."""
    y = np.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    x = np.random.default_rng(0).normal(size=(20, 1000)).astype(np.float32)
    print("off NumPy's by at most", np.abs(softmax(x) - reference(x)).max())
