"""The positive elements of an array, in their order, in one launch: blocks draw tiles, and look back for how many are before."""

import numpy as np

import prism
from prism.lang import (
    block, const, count, float32, grid, group, int32, int64, mailbox, partition, ptr, requires, thread, uint32, uint64,
)
from prism.lib.thread import operators

THREADS, ITEMS = 128, 16
TILE = THREADS * ITEMS


@prism.kernel
@requires(grid[1], block[1], thread[THREADS])
def compact(
    x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], number: ptr(int64) @ grid[1], n: int64 @ grid[1],
    words: ptr(mailbox(int64)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], races="none") as out, partition(number, block[1], 0, races="none") as total, group(block[1]):
        items: float32[ITEMS] @ thread[1]  # what the held tile keeps
        held: int32 @ block[1] = 0
        ahead: float32[ITEMS] @ thread[1]  # the following tile
        coming: int32 @ block[1] = 0

        @requires(block[1], thread[THREADS])
        def load(tile: int32 @ block[1]) -> int64 @ block[1]:
            nonlocal coming
            with partition(x, block[1], int64(tile) * TILE) as source:
                block.load(source, ahead, thread.extent(tile, n, TILE=TILE), 0, WIDTH=1, VECTORIZED=False)
            flags: uint32 @ thread[1] = 0
            for k in range(ITEMS):
                flags |= uint32(1 if ahead[k] > 0 else 0) << k
            coming = block.compact(ahead, flags, WIDTH=1, THREADS=THREADS)
            return coming

        @requires(block[1], thread[THREADS])
        def keep():
            nonlocal held
            held = coming
            for k in range(ITEMS):
                items[k] = ahead[k]

        @requires(block[1], thread[THREADS])
        def store(tile: int32 @ block[1], start: int64 @ block[1]):
            with partition(out, block[1], start, races="none") as target:
                block.store_striped(target, items, held)
            block.fill(total, start + held, 1 if tile == tiles - 1 else 0)

        grid.scan_tiles(
            words, capacity, control, blocks, tiles, 0, 0, OP=operators.add, LOAD=load, KEEP=keep, STORE=store, THREADS=THREADS,
        )


def positives(x):
    """Return the positive elements of a float32 array of NumPy or CuPy, of one dimension, not empty."""
    tiles = -(-x.size // TILE)
    y, number = np.empty_like(x), np.zeros_like(x, np.int64, shape=1)
    words, control = np.zeros_like(x, np.uint64, shape=2 * tiles), np.zeros_like(x, np.uint64, shape=1)
    compact[min(tiles, 528), THREADS](x, y, number, x.size, words, tiles, control)
    return y[: int(number[0])]


if __name__ == "__main__":
    x = np.random.default_rng(0).normal(size=10_000).astype(np.float32)
    print(f"{positives(x).size} of {x.size} elements are positive, in NumPy's order:", np.array_equal(positives(x), x[x > 0]))
