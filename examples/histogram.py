"""How often each byte occurs: each block counts in shared memory, sixteen bytes a load, and adds its counts to the result."""

import numpy as np

import prism
from prism.lang import (
    atomic_add, block, const, count, grid, group, id, int32, load_vector, ptr, requires, shared, thread, uint32,
    uint8, vector,
)

THREADS, BINS = 256, 256


@prism.kernel
@requires(grid[1], block[1], thread[THREADS])
def counted(x: ptr(const(uint8)) @ grid[1], bins: ptr(uint32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    threads: int32 @ grid[1] = count(thread[1])
    with group(block[1]):
        own: shared(uint32[BINS])
        block.fill(own, 0, BINS)
        with group(thread[1]):
            for k in range(i, n // 16, threads):
                bytes: vector(uint8, 16) = load_vector(x[16 * k], 16)
                for j in range(16):
                    atomic_add(own[bytes[j]], 1, scope="block")
            if i < n % 16:
                atomic_add(own[x[n - 1 - i]], 1, scope="block")
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            atomic_add(bins[t], own[t])  # the block's counts are complete: a barrier is inferred before this line


def histogram(x, bins):
    """Add to `bins`, 256 of uint32, how often each byte occurs in `x`: uint8, from a multiple of 16 bytes on, less than 2^31."""
    blocks = min(-(-x.size // (16 * THREADS)), 528)
    if blocks:
        counted[blocks, THREADS](x, bins, x.size)
    return bins


if __name__ == "__main__":
    x = np.random.default_rng(0).binomial(255, 0.3, 10_000).astype(np.uint8)
    bins = histogram(x, np.zeros(BINS, np.uint32))
    print(f"{bins.argmax()} occurs most often, and all counts are NumPy's:", np.array_equal(bins, np.bincount(x, minlength=BINS)))
