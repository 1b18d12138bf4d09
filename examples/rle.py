"""Run-length encoding in one launch: blocks draw tiles, keep where runs begin, and look back for how many begin before."""

import numpy as np

from prism.lang import (
    block, const, count, grid, group, int32, int64, mailbox, partition, prism, ptr, requires, thread, uint32, uint64,
)
from prism.lib.thread import operators

THREADS, ITEMS = 128, 16
TILE = THREADS * ITEMS


@prism.kernel
@requires(grid[1], block[1], thread[THREADS])
def run_starts(
    x: ptr(const(int32)) @ grid[1], starts: ptr(int64) @ grid[1], number: ptr(int64) @ grid[1], n: int64 @ grid[1],
    words: ptr(mailbox(int64)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    with partition(starts, block[1], races="none") as out, partition(number, block[1], 0, races="none") as total, group(block[1]):
        held: int64[ITEMS] @ thread[1]  # where runs begin in the held tile
        kept: int32 @ block[1] = 0
        ahead: int64[ITEMS] @ thread[1]  # and in the following one
        coming: int32 @ block[1] = 0

        @requires(block[1], thread[THREADS])
        def load(tile: int32 @ block[1]) -> int64 @ block[1]:
            nonlocal coming
            flags: uint32 @ thread[1] = 0
            first: int64 @ thread[1] = int64(tile) * TILE + block.place(ITEMS=ITEMS, WIDTH=1)
            with group(thread[1]):
                for k in range(ITEMS):
                    i: int64 = first + 32 * k
                    ahead[k] = i
                    if i < n and (i == 0 or x[i] != x[max(i - 1, 0)]):
                        flags |= uint32(1) << k
            coming = block.compact(ahead, flags, WIDTH=1, THREADS=THREADS)
            return coming

        @requires(block[1], thread[THREADS])
        def keep():
            nonlocal kept
            kept = coming
            for k in range(ITEMS):
                held[k] = ahead[k]

        @requires(block[1], thread[THREADS])
        def store(tile: int32 @ block[1], before: int64 @ block[1]):
            with partition(out, block[1], before, races="none") as target:
                block.store_striped(target, held, kept)
            block.fill(total, before + kept, 1 if tile == tiles - 1 else 0)

        grid.scan_tiles(
            words, capacity, control, blocks, tiles, 0, 0, OP=operators.add, LOAD=load, KEEP=keep, STORE=store, THREADS=THREADS,
        )


def encoded(x):
    """Return the values and the lengths of the runs of an int32 array of NumPy or CuPy: of one dimension, not empty."""
    tiles = -(-x.size // TILE)
    starts, number = np.empty_like(x, np.int64), np.zeros_like(x, np.int64, shape=1)
    words, control = np.zeros_like(x, np.uint64, shape=2 * tiles), np.zeros_like(x, np.uint64, shape=1)
    run_starts[min(tiles, 528), THREADS](x, starts, number, x.size, words, tiles, control)
    starts = starts[: int(number[0])]
    lengths = x.size - starts
    lengths[:-1] = starts[1:] - starts[:-1]
    return x[starts], lengths


if __name__ == "__main__":
    x = np.repeat(np.arange(3000, dtype=np.int32) % 7, np.random.default_rng(0).integers(1, 9, 3000))
    print(f"{x.size} elements are {encoded(x)[0].size} runs, and come back:", np.array_equal(np.repeat(*encoded(x)), x))
