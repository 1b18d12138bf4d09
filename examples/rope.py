"""Rotary positions: pairs of elements are turned by an angle that grows with the position and falls with the pair."""

import math

import numpy as np

import prism
from prism.lang import const, cos, exp2, float32, grid, group, id, int32, partition, ptr, requires, sin, thread

THREADS = 128


@prism.kernel
@requires(grid[1], thread[32])
def turned(
    x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], pairs: int32 @ grid[1],
    dim: int32 @ grid[1], base: float32 @ grid[1],
):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 2 * i) as mine, group(thread[1]):
        if i < pairs:
            position: int32 = 2 * i // dim
            pair: int32 = i % (dim // 2)
            angle: float32 = position * exp2(-base * 2 * pair / dim)
            s: float32 = sin(angle)
            c: float32 = cos(angle)
            mine[0] = c * x[2 * i] - s * x[2 * i + 1]
            mine[1] = s * x[2 * i] + c * x[2 * i + 1]


def rope(x, base=10000.0):
    """Return a float32 array (positions, dim) of NumPy or CuPy with its pairs turned; `dim` is even."""
    y = x.copy()
    pairs = x.size // 2
    turned[-(-pairs // THREADS), THREADS](x, y, pairs, x.shape[1], np.float32(math.log2(base)))
    return y


def reference(x, base=10000.0):
    """The same in NumPy."""
    angles = np.arange(x.shape[0])[:, None] * base ** (-np.arange(0, x.shape[1], 2) / x.shape[1])
    z = (x[:, ::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
    return np.stack([z.real, z.imag], axis=2).reshape(x.shape)


if __name__ == "__main__":
    x = np.random.default_rng(0).normal(size=(40, 64)).astype(np.float32)
    print("off NumPy's by at most", np.abs(rope(x) - reference(x)).max())
