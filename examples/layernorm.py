"""Layer normalisation of the rows of a matrix: a block a row, its mean and its variance from registers."""

import numpy as np

import prism
from prism.lang import (
    block, const, constexpr, float32, grid, group, id, int32, partition, ptr, requires, rsqrt, template, thread,
)
from prism.lib.thread import operators

THREADS = 128


@prism.kernel
@template(ITEMS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def normalised_rows(
    x: ptr(const(float32)) @ grid[1], scale: ptr(const(float32)) @ grid[1], shift: ptr(const(float32)) @ grid[1],
    y: ptr(float32) @ grid[1], columns: int32 @ grid[1], epsilon: float32 @ grid[1],
):
    row: int32 @ block[1] = id()
    with partition(x, block[1], row * columns) as source, partition(y, block[1], row * columns) as target:
        with group(block[1]):
            t: int32 @ thread[1] = id()
            items: float32[ITEMS] @ thread[1]
            block.load_striped(source, items, columns, 0)
            own: float32 @ thread[1] = thread.reduce(items, OP=operators.add)
            total: float32 @ block[1] = block.reduce(own, OP=operators.add)
            with group(thread[1]):
                own = 0
                for k in range(ITEMS):
                    items[k] = items[k] - total / columns if k * THREADS + t < columns else 0
                    own += items[k] * items[k]
            squares: float32 @ block[1] = block.reduce(own, OP=operators.add)
            factor: float32 @ block[1] = rsqrt(squares / columns + epsilon)
            with group(thread[1]):
                for k in range(ITEMS):
                    if k * THREADS + t < columns:
                        items[k] = items[k] * factor * scale[k * THREADS + t] + shift[k * THREADS + t]
            block.store_striped(target, items, columns)


def layernorm(x, scale, shift, epsilon=1e-5):
    """Return the rows of a float32 matrix of NumPy or CuPy, each of mean 0 and variance 1, times `scale` plus `shift`."""
    y = x.copy()
    items = -(-x.shape[1] // THREADS)
    normalised_rows[x.shape[0], THREADS](x, scale, shift, y, x.shape[1], np.float32(epsilon), template={"ITEMS": items})
    return y


def reference(x, scale, shift, epsilon=1e-5):
    """The same in NumPy."""
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + epsilon) * scale + shift


if __name__ == "__main__":
    x, (scale, shift) = (np.random.default_rng(0).normal(3, 2, (n, 1000)).astype(np.float32) for n in (20, 2))
    print("off NumPy's by at most", np.abs(layernorm(x, scale, shift) - reference(x, scale, shift)).max())
