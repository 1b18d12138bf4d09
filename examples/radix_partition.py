"""Keys in 16 buckets by four of their bits, each bucket in its old order: count in tiles, scan the counts, place the keys."""

import numpy as np

import prism
from prism.lang import (
    attr, block, const, grid, group, id, int32, partition, ptr, requires, shared, thread, uint32,
)

THREADS, ITEMS, BITS = 128, 8, 4
TILE, BUCKETS = THREADS * ITEMS, 1 << BITS


@prism.device
@requires(block[1], thread[THREADS])
def rank_tile(
    x: ptr(const(uint32)) @ block[1], valid: int32 @ block[1], shift: int32 @ block[1], keys: uint32[ITEMS] @ thread[1],
    digits: int32[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], counts: int32[1] @ thread[1], begins: int32[1] @ thread[1],
):
    """Load a tile and rank its keys. Thread t learns the count of bucket t. Past the end there are keys of the last bucket."""
    block.load(x, keys, valid, uint32(0xFFFFFFFF), WIDTH=1, VECTORIZED=False)
    with group(thread[1]):
        for k in range(ITEMS):
            digits[k] = int32(keys[k] >> uint32(shift) & (BUCKETS - 1))
    block.radix_rank_counts(digits, ranks, counts, begins, THREADS=THREADS, BITS=BITS, WIDTH=1)


@prism.kernel
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], thread[THREADS])
def count_tiles(
    x: ptr(const(uint32)) @ grid[1], counts: ptr(int32) @ grid[1], n: int32 @ grid[1],
    tiles: int32 @ grid[1], shift: int32 @ grid[1],
):
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % THREADS
    with partition(x, block[1], b * TILE) as tile, partition(counts, thread[1], t * tiles + b, races="none") as mine, \
            group(block[1]):
        keys: uint32[ITEMS] @ thread[1]
        digits: int32[ITEMS] @ thread[1]
        ranks: int32[ITEMS] @ thread[1]
        found: int32[1] @ thread[1]
        begins: int32[1] @ thread[1]
        rank_tile(tile, n - b * TILE, shift, keys, digits, ranks, found, begins)
        with group(thread[1]):
            if t < BUCKETS:
                mine[0] = found[0]


@prism.kernel
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], thread[THREADS])
def place(
    x: ptr(const(uint32)) @ grid[1], y: ptr(uint32) @ grid[1], starts: ptr(const(int32)) @ grid[1], n: int32 @ grid[1],
    tiles: int32 @ grid[1], shift: int32 @ grid[1],
):
    b: int32 @ block[1] = id()
    with partition(x, block[1], b * TILE) as tile, partition(y, thread[1], 0, races="none") as out, group(block[1]):
        keys: uint32[ITEMS] @ thread[1]
        digits: int32[ITEMS] @ thread[1]
        ranks: int32[ITEMS] @ thread[1]
        found: int32[1] @ thread[1]
        begins: int32[1] @ thread[1]
        offset: shared(int32[BUCKETS])      # from a key's rank in the tile to its place in the result
        t: int32 @ thread[1] = id()
        rank_tile(tile, n - b * TILE, shift, keys, digits, ranks, found, begins)
        with partition(offset, thread[1], t) as own, group(thread[1]):
            if t < BUCKETS:
                own[0] = starts[t * tiles + b] - begins[0]
        with group(thread[1]):
            for k in range(ITEMS):
                if offset[digits[k]] + ranks[k] < n:
                    out[offset[digits[k]] + ranks[k]] = keys[k]


def radix_partition(x, shift=0):
    """Return uint32 keys of NumPy or CuPy, not empty, in the order of their four bits from `shift` on, else in their order."""
    tiles, y = -(-x.size // TILE), x.copy()
    counts = x[:1].repeat(BUCKETS * tiles).astype(np.int32)
    count_tiles[tiles, THREADS](x, counts, x.size, tiles, shift)
    starts = prism.lib.scan(counts, exclusive=True)
    place[tiles, THREADS](x, y, starts, x.size, tiles, shift)
    return y


def reference(x, shift=0):
    """The same in NumPy."""
    return x[np.argsort(x >> shift & 15, kind="stable")]


if __name__ == "__main__":
    x = np.random.default_rng(0).integers(0, 2**32, 3000, dtype=np.uint32)
    print("the buckets are NumPy's:", np.array_equal(radix_partition(x, 8), reference(x, 8)))
