"""A kernel of all operators that vectors have: for the reference machine and for a GPU."""
# ruff: noqa: F821, I001 -- names that the kernel declares

from __future__ import annotations

import numpy as np

from prism.lang import (
    const, constexpr, dtype, fma, grid, group, id, int32, load_vector, partition, prism, ptr, requires, store_vector, template,
    thread, vector,
)  # fmt: skip


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype, N=constexpr(int), FUSED=constexpr(bool))
def polynomials(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], s: T @ grid[1]):
    """Each thread's N elements: -(2 x + 1 - x x - s x) / (x + 3), and with FUSED x x + that."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], N * i) as mine, group(thread[1]):
        a: vector(T, N) = load_vector(x[N * i], N)
        b: vector(T, N) = 2 * a + 1 - a * a
        b -= s * a
        b = -b / (a + 3)
        if FUSED:
            b = fma(a, a, b)
        store_vector(mine[0], b)


TYPES = [("float32", 4), ("float32", 2), ("float32", 1), ("float64", 2), ("float16", 8), ("float16", 2)]


def expected(x, s, fused):
    """Return what NumPy makes of it, each operation rounded by itself."""
    T = x.dtype.type
    b = T(2) * x + T(1) - x * x
    b = -(b - s * x) / (x + T(3))
    return (x.astype(np.float64) * x + b).astype(T) if fused else b
