"""A block ends the launch: the next one finds all as this one found it, but for the epoch."""

from prism.lang import (
    block, dtype, grid, int32, int64, mailbox, prism, ptr, publish, requires, split, store_relaxed, template, thread, uint32,
    uint64,
)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype)
def count_launch(
    control: ptr(uint64) @ grid[1], words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1], used: int32 @ block[1],
    epoch: uint32 @ thread[1], identity: T @ block[1],
):
    """Count the launch in `control`, and set its counter back: for the block that has drawn the last ticket of all.

    That is number `tiles + blocks - 1`: then every block has drawn its last. Where blocks draw none, it is one that knows all
    others have read the epoch, for it has received what they published.

    Each launch marks one of the words that it doesn't use, so that after 2^32 launches no word is as old as to carry this very
    epoch.

    Perspective: block, of any number of threads.
    Shapes:      `control`: as of `grid.tiles`. `words`: `capacity` of them, of which this launch uses the first `used`. A
                 kernel with several arrays of words calls it for each of them.
    Cost:        two stores, of the first thread; no barrier.
    Test:        tests/lib/grid/test_tiles.py
    """
    match split(thread):
        case 1:
            store_relaxed(control[0], uint64(epoch) << 32)
            stale: int64 = epoch % capacity
            if stale >= used:
                publish(words[stale], identity, epoch)
