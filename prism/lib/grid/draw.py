"""A block draws the number of a tile, or reads the launch's epoch; it does not wait for it, and learns it later."""

from prism.lang import (
    atomic_add, block, grid, int32, load_relaxed, prism, ptr, requires, split, thread, uint32, uint64,
)  # fmt: skip


@prism.device
@requires(block[1], thread[1])
def draw(control: ptr(uint64) @ grid[1], counter: int32 @ block[1] = 0) -> uint64 @ thread[1]:
    """Draw the block's next ticket: its first thread has it, once it uses it; `grid.next_tile` gives it to all.

    Perspective: block, of any number of threads.
    Shapes:      `control`, `counter`: as of `grid.tiles`, which draws a block's first ticket.
    Returns:     the ticket's word in the first thread, 0 in the others. Nobody waits for it here: what stands between this and
                 `grid.next_tile` goes on while the counter's answer is under way.
    Cost:        an atomic addition; no barrier.
    Errors:      after a ticket that is not below the number of tiles a block draws no more: `grid.count_launch` would count
                 wrong.
    Test:        tests/lib/grid/test_tiles.py
    """
    ticket: uint64 @ thread[1] = 0
    match split(thread):
        case 1:
            ticket = atomic_add(control[counter], 1)
    return ticket


@prism.device
@requires(block[1], thread[1])
def next_tile(ticket: uint64 @ thread[1]) -> int32 @ block[1]:
    """The number of the tile whose ticket `grid.draw` has drawn, for the whole block.

    Perspective: block, of any number of threads.
    Cost:        the rest of the counter's round trip, one barrier, and one word of shared memory.
    Test:        tests/lib/grid/test_tiles.py
    """
    word: uint64 @ block[1] = block.broadcast(ticket, 0)
    return int32(word)


@prism.device
@requires(block[1], thread[1])
def epoch(control: ptr(uint64) @ grid[1]) -> uint32 @ thread[1]:
    """The launch's epoch, of a kernel whose blocks draw no tickets: in the first thread, once it uses it; 1 in the others.

    `block.broadcast` gives it to all. What stands between goes on while it is under way.

    Perspective: block, of any number of threads.
    Shapes:      `control`: as of `grid.tiles`. Its number of launches changes when `grid.count_launch` is called: after every
                 block has read it.
    Cost:        a read of memory; no barrier.
    Test:        tests/lib/grid/test_gather.py
    """
    launches: uint64 @ thread[1] = 0
    match split(thread):
        case 1:
            launches = load_relaxed(control[0])
    return uint32(launches >> 32) + 1
