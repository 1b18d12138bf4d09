"""Attention, softmax(Q K^T / sqrt(D)) V: tiles of K and V go by, and no score is ever in memory. For Hopper's tensor cores.

A block has 128 rows of Q, a warpgroup 64 of them; one thread of the third warpgroup asks for tiles. A trip of the loop begins
the products with a tile of K, then those of the weights, still of the tile before, with its V, and makes its weights meanwhile:
the first trip adds no values, the last makes no scores, and the compiler takes both out of the loop. The warpgroups take turns at
the tensor cores: while one's are busy the other makes weights. What waits for what is not written but inferred; to see it,
`python -m prism explain examples/flash_attention.py:attention_rows -t D=128 -t BN=128`.
"""

import math

import numpy as np

import prism
from prism.lang import (
    CUtensorMap, attr, block, claim, column, const, constexpr, count, fast_exp2_flush, float32, fragment, grid, group, half, id,
    int32, one, partition, ptr, requires, roles, row, set_registers, shared, shuffle_xor, template, thread, tma_load, turns,
    warpgroup, wgmma,
)  # fmt: skip


@prism.kernel
@attr("__launch_bounds__(384, 1)")
@template(D=constexpr(int), BN=constexpr(int))
@requires(grid[1], block[1], warpgroup[3])
def attention_rows(
    q: const(CUtensorMap(half, 128, D, swizzle=128)) @ grid[1], k: const(CUtensorMap(half, BN, D, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(half, BN, D, swizzle=128)) @ grid[1], o: ptr(float32) @ grid[1],
    n: int32 @ grid[1], scale: float32 @ grid[1],
):  # fmt: skip
    top: int32 @ block[1] = 128 * id(block[1])  # this block's rows; heads of n rows lie one after the other
    begin: int32 @ block[1] = top // n * n
    end: int32 @ block[1] = begin + n
    with partition(o, block[1], lambda r, c: (top + r) * D + c) as out, group(block[1]):
        q_tile: shared(half[128, D], ring=1, swizzle=128)
        k_tile: shared(half[BN, D], ring=2, swizzle=128)
        v_tile: shared(half[BN, D], ring=2, swizzle=128)
        scores: fragment(float32, 64, BN) @ warpgroup[1] = 0
        weights: fragment(half, 64, BN) @ warpgroup[1] = 0  # in registers: an operand as it is
        sums: fragment(float32, 64, D) @ warpgroup[1] = 0
        largest: float32[2] @ thread[1]  # a thread has elements of two rows: those with i / 2 % 2 == h
        total: float32[2] @ thread[1] = {0}
        factor: float32[2] @ thread[1]
        w: int32 @ warpgroup[1] = id()
        consumers, producer = roles(warpgroup, 2, 1)
        with producer:
            set_registers(24)
        with consumers:
            set_registers(240)
        for h in range(2):
            largest[h] = -math.inf
        with claim(q_tile, producer) as q_in, one(thread):
            tma_load(q_in, q[top, 0])
        with claim(q_tile, consumers) as q_now:
            for j in range(begin, end + BN, BN):
                with claim(k_tile, producer) as k_in, one(thread):
                    if j < end:
                        tma_load(k_in, k[j, 0])
                with claim(v_tile, producer) as v_in, one(thread):
                    if j > begin:
                        tma_load(v_in, v[j - BN, 0])
                with turns(consumers):
                    with claim(k_tile, consumers, in_flight=1) as k_now, group(warpgroup[1]):
                        if j < end:
                            wgmma(scores, q_now[64 * w, 0], k_now, accumulate=False)
                    with claim(v_tile, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                        if j > begin:
                            wgmma(sums, weights, v_now, transpose_b=True)
                with consumers:
                    if j < end:
                        for h in range(2):
                            most: float32 @ thread[1] = -math.inf
                            with group(thread[1]):
                                for i in range(count(scores)):
                                    if i // 2 % 2 == h:
                                        most = max(most, scores[i])
                                most = max(scale * most, largest[h])
                            for s in range(2):  # four lanes share a row
                                most = max(most, shuffle_xor(most, 1 << s))
                            with group(thread[1]):
                                factor[h] = fast_exp2_flush(largest[h] - most)
                                largest[h] = most
                                total[h] *= factor[h]
                        with group(thread[1]):
                            for i in range(count(scores)):
                                scores[i] = fast_exp2_flush(scale * scores[i] - largest[i // 2 % 2])
                                total[i // 2 % 2] += scores[i]
                            for i in range(count(sums)):  # here the last values are waited for
                                sums[i] *= factor[i // 2 % 2]
                            for i in range(count(weights)):
                                weights[i] = half(scores[i])
        with partition(out, thread[1], lambda r, c: (r, c), races="allow") as mine, consumers:
            for h in range(2):
                for s in range(2):
                    total[h] += shuffle_xor(total[h], 1 << s)
            with group(thread[1]):
                for i in range(count(sums)):
                    mine[64 * w + row(sums, i), column(sums, i)] = sums[i] / total[i // 2 % 2]


def attention(q, k, v, o):
    """Fill o, float32, of shape (heads, n, D), with the attention of float16 arrays of this shape; n: by 128, D: by 64."""
    heads, n, d = q.shape
    scale = np.float32(math.log2(math.e) / math.sqrt(d))  # 2^(x log2 e) is e^x
    maps = (x.reshape(heads * n, d) for x in (q, k, v))
    attention_rows[heads * n // 128, 384](*maps, o, n, scale, template={"D": d, "BN": 128 if d <= 128 else 64})


def reference(q, k, v):
    """The same in NumPy."""
    q, k, v = (np.asarray(x, np.float32) for x in (q, k, v))
    scores = q @ k.swapaxes(1, 2) / np.float32(math.sqrt(q.shape[2]))
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ v


if __name__ == "__main__":
    q, k, v = np.random.default_rng(0).normal(size=(3, 2, 256, 64)).astype(np.float16)
    o = np.zeros(q.shape, np.float32)
    attention(q, k, v, o)
    print("off NumPy's by at most", np.abs(o - reference(q, k, v)).max())
