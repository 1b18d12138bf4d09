"""A step of k-means: each point goes to its nearest centre, and blocks add up each centre's points in shared memory."""

import math

import numpy as np

import prism
from prism.lang import (
    atomic_add, block, const, constexpr, float32, grid, group, id, int32, partition, ptr, requires, shared, template,
    thread, uint32,
)

THREADS = 128


@prism.kernel
@template(K=constexpr(int), D=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def assign(
    x: ptr(const(float32)) @ grid[1], centres: ptr(const(float32)) @ grid[1], label: ptr(int32) @ grid[1],
    sums: ptr(float32) @ grid[1], sizes: ptr(uint32) @ grid[1], n: int32 @ grid[1],
):
    i: int32 @ thread[1] = id()
    with partition(label, thread[1], i) as mine, group(block[1]):
        own: shared(float32[K * D])     # this block's sums, and below how many points they are of
        number: shared(uint32[K])
        block.fill(own, 0, K * D)
        block.fill(number, 0, K)
        with group(thread[1]):
            if i < n:
                best: int32 = 0
                least: float32 = math.inf
                for c in range(K):
                    far: float32 = 0
                    for d in range(D):
                        far += (x[i * D + d] - centres[c * D + d]) * (x[i * D + d] - centres[c * D + d])
                    if far < least:
                        best = c
                        least = far
                mine[0] = best
                atomic_add(number[best], 1, scope="block")
                for d in range(D):
                    atomic_add(own[best * D + d], x[i * D + d], scope="block")
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            for j in range(t, K * D, THREADS):
                atomic_add(sums[j], own[j])     # all points are in: a barrier is inferred before this scope
            for j in range(t, K, THREADS):
                atomic_add(sizes[j], number[j])


def step(x, centres):
    """Return the labels of float32 points (n, D) of NumPy or CuPy, and the centres (K, D) moved to the means of their points."""
    k, d = centres.shape
    label = x[:, 0].astype(np.int32)
    sums, sizes = 0 * centres, (0 * centres[:, 0]).astype(np.uint32)
    assign[-(-x.shape[0] // THREADS), THREADS](x, centres, label, sums, sizes, x.shape[0], template={"K": k, "D": d})
    return label, sums / sizes[:, None].clip(1)


def reference(x, centres):
    """The same in NumPy."""
    label = ((x[:, None].astype(np.float64) - centres) ** 2).sum(axis=2).argmin(axis=1)
    return label, np.stack([x[label == c].mean(axis=0) if (label == c).any() else 0 * x[0] for c in range(len(centres))])


if __name__ == "__main__":
    random = np.random.default_rng(0)
    x = (random.normal(size=(1000, 2)) + random.choice([-5, 0, 5], (1000, 1))).astype(np.float32)
    found, wanted = step(x, x[:3].copy()), reference(x, x[:3].copy())
    same = np.array_equal(found[0], wanted[0]) and np.allclose(found[1], wanted[1], atol=1e-4)
    print("each label and centre is NumPy's:", same)
