"""A dynamic schedule: blocks take the next tile of a launch when they are done with one, and all roles of a block learn which."""

from prism.lang import (
    atomic_increment, block, claim, constexpr, function, grid, int32, one, partition, prism, ptr, requires, roles, shared,
    template, thread, uint32, warp,
)


@prism("device")
@template(TILE=function, THREADS=constexpr(int))
@requires(block[1], thread[THREADS])
def dynamic_tiles(
    counter: ptr(uint32) @ grid[1], first: int32 @ block[1], blocks: int32 @ grid[1], tiles: int32 @ grid[1],
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
                 warp; 8 bytes of shared memory, and mbarriers.
    Errors:      `TILE` must not wait for another block. A launch that is broken off leaves the counter as it is.
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
        with claim(following, scheduler) as drawn, claim(drawn, thread[1]) as word, one(thread):
            word[0] = blocks + int32(ticket)  # not above: the answer is under way while this role does its part
        with partition(following, block[1], 0) as now:
            tile = now[0]
