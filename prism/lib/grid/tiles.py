"""The blocks of a launch begin to draw the numbers of its tiles."""

from prism.lang import block, grid, int32, prism, ptr, requires, thread, uint32, uint64
from prism.lib.grid.ticket import Ticket


@prism("device")
@requires(block[1], thread[1])
def tiles(control: ptr(uint64) @ grid[1], counter: int32 @ block[1] = 0) -> Ticket @ block[1]:
    """The block's first ticket, `grid.Ticket`: its `tile`, and the launch's `epoch`, which all blocks agree on.

    Tickets are numbers 0, 1, 2 ..., one after the other: whoever draws one does that tile. So a tile's number is drawn after
    all that are below it, and a block that waits for lower tiles waits for blocks that run. Further ones are by `grid.draw`,
    until one is not below the number of tiles. Each block draws exactly one of those, and the block of the very last one,
    `tiles + blocks - 1`, calls `grid.count_launch`: it sets the counter back, and the next launch has the next epoch.

    Perspective: block, of any number of threads.
    Shapes:      `control[counter]`: the number of launches so far above the counter. It is 0 at first, and of no other use at the
                 same time; launches follow each other, as in a stream. Where blocks share several arrays of tiles, each has a
                 counter of its own, and `blocks` are those that draw from it.
    Cost:        a round trip to memory, and one barrier.
    Source:      Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back".
    Test:        tests/lib/grid/test_tiles.py
    """
    ticket: uint64 @ thread[1] = grid.draw(control, counter)
    first: uint64 @ block[1] = block.broadcast(ticket, 0)
    return Ticket(int32(first), uint32(first >> 32) + 1)
