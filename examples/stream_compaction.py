"""The positive elements of an array, in their order: count those of each tile, scan the counts, put each in its place."""

import numpy as np

import prism
from prism.lang import block, const, float32, grid, group, id, int32, partition, ptr, requires, thread
from prism.lib.thread import operators

THREADS, ITEMS = 128, 4
TILE = THREADS * ITEMS


@prism("global")
@requires(grid[1], block[1], thread[THREADS])
def counted(x: ptr(const(float32)) @ grid[1], counts: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(x, block[1], b * TILE) as source, partition(counts, block[1], b) as target, group(block[1]):
        items: float32[ITEMS] @ thread[1]
        block.load_striped(source, items, n - b * TILE, 0)
        kept: int32 @ thread[1] = 0
        for k in range(ITEMS):
            kept += 1 if items[k] > 0 else 0
        block.reduce_into(target, kept, OP=operators.add)


@prism("global")
@requires(grid[1], block[1], thread[THREADS])
def placed(x: ptr(const(float32)) @ grid[1], starts: ptr(const(int32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(x, block[1], b * TILE) as source, partition(y, thread[1], offset=lambda rank: rank) as place:
        with group(block[1]):
            items: float32[ITEMS] @ thread[1]
            ranks: int32[ITEMS] @ thread[1]
            start: int32 @ block[1] = starts[b]
            block.load_transposed(source, items, n - b * TILE, 0, THREADS=THREADS)
            with group(thread[1]):
                for k in range(ITEMS):
                    ranks[k] = 1 if items[k] > 0 else 0
            block.scan_initial(ranks, start, WIDTH=ITEMS, OP=operators.add, EXCLUSIVE=True)
            with group(thread[1]):
                for k in range(ITEMS):
                    if items[k] > 0:
                        place[ranks[k]] = items[k]


def positives(x):
    """Return the positive elements of a float32 array of NumPy or CuPy: of one dimension, less than 2^31 elements, not empty."""
    tiles = -(-x.size // TILE)
    counts = x[:tiles].astype(np.int32)  # an array of as many, on the same device
    counted[tiles, THREADS](x, counts, x.size)
    ends = prism.lib.scan(counts)
    y = x[: int(ends[-1])].copy()
    placed[tiles, THREADS](x, ends - counts, y, x.size)
    return y


if __name__ == "__main__":
    x = np.random.default_rng(0).normal(size=10_000).astype(np.float32)
    print(f"{positives(x).size} of {x.size} elements are positive, in NumPy's order:", np.array_equal(positives(x), x[x > 0]))
