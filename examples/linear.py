"""A linear layer on Hopper's tensor cores, `relu(x @ w.T + bias)`: a ring of tiles, `wgmma`, and the rest in registers."""

import numpy as np

import prism
from prism.lang import (
    CUtensorMap, block, claim, column, const, count, float32, fragment, grid, group, half, id, int32, one, partition, ptr,
    requires, roles, row, shared, thread, tma_load, warpgroup, wgmma,
)

BM, BN, BK = 128, 128, 64


@prism.kernel
@requires(grid[1], block[1], warpgroup[3])
def layer(
    x: const(CUtensorMap(half, BM, BK, swizzle=128)) @ grid[1], w: const(CUtensorMap(half, BN, BK, swizzle=128)) @ grid[1],
    bias: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
):
    top: int32 @ block[1] = BM * (id(block[1]) // (n // BN))
    left: int32 @ block[1] = BN * (id(block[1]) % (n // BN))
    with partition(y, block[1], lambda r, c: (top + r) * n + left + c) as out, group(block[1]):
        a: shared(half[BM, BK], ring=4, swizzle=128)
        b: shared(half[BN, BK], ring=4, swizzle=128)
        sums: fragment(float32, 64, BN) @ warpgroup[1] = 0
        consumers, producer = roles(warpgroup, 2, 1)
        for first in range(0, k, BK):
            with claim(a, producer) as a_in, claim(b, producer) as b_in, one(thread):
                tma_load(a_in, x[top, first])
                tma_load(b_in, w[left, first])
            with claim(a, consumers) as a_now, claim(b, consumers) as b_now:
                g: int32 @ warpgroup[1] = id()
                with group(warpgroup[1]):
                    wgmma(sums, a_now[64 * g, 0], b_now)
        with partition(out, thread[1], lambda r, c: (r, c), races="allow") as mine, consumers:
            g: int32 @ warpgroup[1] = id()
            with group(thread[1]):
                for i in range(count(sums)):
                    mine[64 * g + row(sums, i), column(sums, i)] = max(sums[i] + bias[left + column(sums, i)], 0)


def linear(x, w, bias, y):
    """Fill y, float32 (m, n), with `relu(x @ w.T + bias)` of float16 x (m, k) and w (n, k); m and n: by 128, k: by 64."""
    (m, k), n = x.shape, w.shape[0]
    layer[m // BM * (n // BN), 384](x, w, bias, y, n, k)
    return y


def reference(x, w, bias):
    """The same in NumPy."""
    return np.maximum(np.asarray(x, np.float32) @ np.asarray(w, np.float32).T + bias, 0)


if __name__ == "__main__":
    random = np.random.default_rng(0)
    x, w = (random.integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
    bias, y = random.integers(-9, 9, 128).astype(np.float32), np.zeros((128, 128), np.float32)
    print("each element is NumPy's:", np.array_equal(linear(x, w, bias, y), reference(x, w, bias)))
