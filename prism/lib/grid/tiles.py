"""The blocks of a launch draw the numbers of its tiles."""

from prism.lang import (
    atomic_increment, block, claim, constexpr, function, grid, int32, one, partition, prism, ptr, requires, roles, shared,
    template, thread, uint32, uint64, warp,
)
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


@prism("device")
@template(TILE=function, THREADS=constexpr(int))
@requires(block[1], thread[THREADS])
def dynamic_tiles(
    counter: ptr(uint32) @ grid[1], first: int32 @ block[1], blocks: int32 @ grid[1], tiles: int32 @ block[1],
    scheduler: roles(warp, 1),
):
    """`TILE(tile)` for tiles `0 ... tiles - 1`, each by the block that comes to it first: a persistent kernel's tile scheduler.

    Block `first`, of `blocks`, begins with that tile. Meanwhile one thread of `scheduler` draws the number of the block's next
    one, and hands it over by a ring: each role reads it when it is done with its part of a tile, and goes on. So roles run
    ahead of others by up to two tiles, and no barrier stands between tiles. Where tiles cost differently, the costly ones
    should come first.

    Perspective: block, of `THREADS` threads.
    Shapes:      `counter[0]`: 0 at first. It counts what is drawn, one number for each tile, and the last one that is drawn sets
                 it back: the next launch finds 0, and needs nothing before it. Launches that share it follow each other, as in
                 a stream.
    Cost:        of a tile, an atomic addition that nobody waits for until the next tile, and a wait and an arrival of each
                 warp; 32 bytes of shared memory, and four mbarriers.
    Errors:      `TILE` must not wait for another block. A launch that is broken off leaves the counter as it is. Two calls in one
                 launch need a counter each.
    Source:      CUTLASS's persistent tile schedulers; FlashAttention-3's `DynamicPersistentTileScheduler`.
    Test:        tests/lib/grid/test_dynamic_tiles.py
    """
    following: shared(int32[1], ring=2)
    tile: int32 @ block[1] = first
    while tile < tiles:
        ticket: uint32 @ thread[1] = 0
        with scheduler, one(thread):
            ticket = atomic_increment(counter[0], uint32(tiles - 1))
        TILE(tile)
        with claim(following, scheduler) as own, claim(own, thread[1]) as word, one(thread):
            word[0] = blocks + int32(ticket)  # not above: the answer is under way while this role does its part
        with partition(following, block[1], 0) as now:
            tile = now[0]
