"""Attention, softmax(q @ k.T / sqrt(D)) @ v, on Hopper: tiles of k and v go by, and no score is ever in memory.

`flash_attention.py` is the same with two warpgroups that take turns at the tensor cores, and so faster.
"""

import math

import numpy as np

import prism
from prism.lang import (
    CUtensorMap, block, claim, column, const, constexpr, count, exp2, float32, fragment, grid, group, half, id, int32,
    one, partition, ptr, requires, roles, row, shared, shuffle_xor, template, thread, tma_load, warpgroup, wgmma,
)

BN = 64


@prism.kernel
@template(D=constexpr(int))
@requires(grid[1], block[1], warpgroup[2])
def attend(
    q: const(CUtensorMap(half, 64, D, swizzle=128)) @ grid[1], k: const(CUtensorMap(half, BN, D, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(half, BN, D, swizzle=128)) @ grid[1], o: ptr(float32) @ grid[1],
    n: int32 @ grid[1], scale: float32 @ grid[1],
):
    top: int32 @ block[1] = 64 * id(block[1])           # this block's rows; heads of n rows lie one after the other
    begin: int32 @ block[1] = top // n * n
    with partition(o, block[1], lambda r, c: (top + r) * D + c) as out, group(block[1]):
        q_tile: shared(half[64, D], ring=1, swizzle=128)
        k_tile: shared(half[BN, D], ring=2, swizzle=128)
        v_tile: shared(half[BN, D], ring=2, swizzle=128)
        scores: fragment(float32, 64, BN) @ warpgroup[1] = 0
        weights: fragment(half, 64, BN) @ warpgroup[1] = 0
        sums: fragment(float32, 64, D) @ warpgroup[1] = 0
        most: float32[2] @ thread[1] = [-math.inf, -math.inf]   # a thread has elements of two rows: those with i // 2 % 2 == h
        total: float32[2] @ thread[1] = {0}
        worker, loader = roles(warpgroup, 1, 1)
        with claim(q_tile, loader) as q_in, one(thread):
            tma_load(q_in, q[top, 0])
        with claim(q_tile, worker) as q_now:
            for j in range(begin, begin + n, BN):
                with claim(k_tile, loader) as k_in, claim(v_tile, loader) as v_in, one(thread):
                    tma_load(k_in, k[j, 0])
                    tma_load(v_in, v[j, 0])
                with claim(k_tile, worker) as k_now, claim(v_tile, worker) as v_now:
                    with group(warpgroup[1]):
                        wgmma(scores, q_now, k_now, accumulate=False)
                    for h in range(2):
                        high: float32 @ thread[1] = most[h]
                        with group(thread[1]):
                            for i in range(count(scores)):
                                if i // 2 % 2 == h:
                                    high = max(high, scale * scores[i])
                        for s in range(2):              # four lanes share a row
                            high = max(high, shuffle_xor(high, 1 << s))
                        with group(thread[1]):
                            total[h] *= exp2(most[h] - high)
                            for i in range(count(sums)):
                                if i // 2 % 2 == h:
                                    sums[i] *= exp2(most[h] - high)
                            for i in range(count(scores)):
                                if i // 2 % 2 == h:
                                    weights[i] = half(exp2(scale * scores[i] - high))
                                    total[h] += exp2(scale * scores[i] - high)
                            most[h] = high
                    with group(warpgroup[1]):
                        wgmma(sums, weights, v_now, transpose_b=True)
        with partition(out, thread[1], lambda r, c: (r, c), races="allow") as mine, worker:
            for h in range(2):
                for s in range(2):
                    total[h] += shuffle_xor(total[h], 1 << s)
            with group(thread[1]):
                for i in range(count(sums)):
                    mine[row(sums, i), column(sums, i)] = sums[i] / total[i // 2 % 2]


def attention(q, k, v, o):
    """Fill o, float32 (heads, n, D), with the attention of float16 arrays of this shape; n and D: by 64."""
    heads, n, d = q.shape
    maps = (x.reshape(heads * n, d) for x in (q, k, v))
    attend[heads * n // 64, 256](*maps, o, n, np.float32(math.log2(math.e) / math.sqrt(d)), template={"D": d})
    return o


def reference(q, k, v):
    """The same in NumPy."""
    q, k, v = (np.asarray(x, np.float32) for x in (q, k, v))
    scores = q @ k.swapaxes(1, 2) / np.float32(math.sqrt(q.shape[2]))
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ v


if __name__ == "__main__":
    q, k, v = np.random.default_rng(0).normal(size=(3, 1, 128, 64)).astype(np.float16)
    print("off NumPy's by at most", np.abs(attention(q, k, v, np.zeros(q.shape, np.float32)) - reference(q, k, v)).max())
