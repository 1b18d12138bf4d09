"""Attention, softmax(Q K^T / sqrt(D)) V: tiles of K and V go by, and no score is ever in memory. For Hopper's tensor cores."""

import math

import numpy as np

import prism
from prism.lang import (
    CUtensorMap, attr, block, claim, column, const, constexpr, count, exp2, float32, fragment, grid, group, half, id, int32,
    load_vector, one, partition, ptr, requires, roles, row, shared, shuffle_xor, store_vector, template, thread, tma_load,
    warpgroup, wgmma,
)  # fmt: skip


@prism("global")
@attr("__launch_bounds__(256)")
@template(D=constexpr(int), BN=constexpr(int))
@requires(grid[1], block[1], warpgroup[2])
def attention_rows(
    q: ptr(const(half)) @ grid[1], k: const(CUtensorMap(half, BN, D, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(half, BN, D, swizzle=128)) @ grid[1], o: ptr(float32) @ grid[1],
    n: int32 @ grid[1], scale: float32 @ grid[1],
):  # fmt: skip
    first: int32 @ block[1] = 64 * id(block[1])  # this block's 64 rows of Q; heads of n rows lie one after the other
    with partition(o, block[1], lambda r, c: (first + r) * D + c) as out, group(block[1]):
        q_tile: shared(half[64, D], swizzle=128)
        k_tile: shared(half[BN, D], ring=2, swizzle=128)
        v_tile: shared(half[BN, D], ring=2, swizzle=128)
        weights: shared(half[64, BN], swizzle=128)
        scores: fragment(float32, 64, BN) @ warpgroup[1]
        sums: fragment(float32, 64, D) @ warpgroup[1] = 0
        consumer, producer = roles(warpgroup, 1, 1)
        largest: float32[2] @ thread[1]  # a thread has elements of two rows: those with i / 2 % 2 == h
        total: float32[2] @ thread[1] = {0}
        for h in range(2):
            largest[h] = -math.inf
        t: int32 @ thread[1] = id()
        with partition(q_tile, thread[1], lambda e: (e / D, e % D)) as mine, group(thread[1]):
            for e in range(8 * t, 64 * D, 8 * 256):
                store_vector(mine[e], load_vector(q[first * D + e], 8))
        for j in range(first / n * n, first / n * n + n, BN):
            with claim(k_tile, producer) as k_in, claim(v_tile, producer) as v_in, one(thread):
                tma_load(k_in, k[j, 0])
                tma_load(v_in, v[j, 0])
            with claim(k_tile, consumer) as k_now, claim(v_tile, consumer) as v_now, claim(weights, consumer) as w:
                wgmma(scores, q_tile, k_now, accumulate=False)
                for h in range(2):
                    top: float32 @ thread[1] = largest[h]
                    with group(thread[1]):
                        for i in range(count(scores)):
                            top = max(top, scale * scores[i] if i / 2 % 2 == h else top)
                    for s in range(2):  # four lanes share a row
                        top = max(top, shuffle_xor(top, 1 << s))
                    with group(thread[1]):
                        factor: float32 = exp2(largest[h] - top)
                        largest[h] = top
                        total[h] *= factor
                        for i in range(count(sums)):
                            sums[i] *= factor if i / 2 % 2 == h else 1
                with partition(w, thread[1], lambda r, c: (r, c), races="allow") as mine, group(thread[1]):
                    for i in range(count(scores)):
                        weight: float32 = exp2(scale * scores[i] - largest[i / 2 % 2])
                        total[i / 2 % 2] += weight
                        mine[row(scores, i), column(scores, i)] = half(weight)
                wgmma(sums, w, v_now, transpose_b=True)
        with partition(out, thread[1], lambda r, c: (r, c), races="allow") as mine, consumer:
            for h in range(2):
                for s in range(2):
                    total[h] += shuffle_xor(total[h], 1 << s)
            with group(thread[1]):
                for i in range(count(sums)):
                    mine[row(sums, i), column(sums, i)] = sums[i] / total[i / 2 % 2]


def attention(q, k, v, o):
    """Fill o, float32, of shape (heads, n, D), with the attention of float16 arrays of this shape; n and D: multiples of 64."""
    heads, n, d = q.shape
    maps = k.reshape(heads * n, d), v.reshape(heads * n, d)
    scale = np.float32(math.log2(math.e) / math.sqrt(d))  # 2^(x log2 e) is e^x
    attention_rows[heads * n // 64, 256](q, *maps, o, n, scale, template={"D": d, "BN": 64})


def reference(q, k, v):
    """The same in NumPy."""
    scores = np.float32(q) @ np.float32(k).swapaxes(1, 2) / np.float32(math.sqrt(q.shape[2]))
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ np.float32(v)


if __name__ == "__main__":
    q, k, v = np.random.default_rng(0).normal(size=(3, 2, 128, 64)).astype(np.float16)
    o = np.zeros(q.shape, np.float32)
    attention(q, k, v, o)
    print("off NumPy's by at most", np.abs(o - reference(q, k, v)).max())
