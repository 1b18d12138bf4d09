"""The blocks of a launch draw the numbers of its tiles."""

from prism.lang import (
    atomic_increment, block, claim, const, constexpr, count, function, grid, group, id, int32, int64, one, partition, prism, ptr,
    requires, roles, shared, static_assert, template, thread, uint32, uint64, vector, warp,
)
from prism.lib.grid.ticket import Ticket
from prism.lib.thread import operators


@prism.device
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


@prism.device
@template(TILE=function, THREADS=constexpr(int))
@requires(block[1], thread["THREADS"])
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


@prism.device
@requires(thread[1])
def owners(
    first: int32 @ thread[1], many: int32 @ thread[1], tiles: int32 @ thread[1], blocks: int32 @ thread[1]
) -> vector(int32, 2) @ thread[1]:
    """Which block has tile `first` of `tiles`, and how many blocks have some of `many` from there on, as `deal_tiles` deals them.

    Perspective: thread.
    Cost:        two divisions of 64-bit numbers.
    Test:        tests/lib/grid/test_deal_tiles.py
    """
    share: int32 = min(blocks, tiles)
    leader: int32 = int32((int64(first + 1) * share - 1) // tiles)
    return vector(int32, 2)(leader, int32((int64(first + many) * share - 1) // tiles) - leader + 1)


@prism.device
@template(SIZE=constexpr(int))
@requires(thread[1])
def count_tiles(length: int32 @ thread[1]) -> int32 @ thread[1]:
    """How many tiles of `SIZE` elements there are of `length`: one at least.

    Perspective: thread.
    Cost:        a division by a constant.
    Test:        tests/lib/grid/test_deal_tiles.py
    """
    return max(1, length // SIZE + (1 if length % SIZE > 0 else 0))


@prism.device
@template(WORK=function, SIZE=constexpr(int), UNEVEN=constexpr(bool), THREADS=constexpr(int))
@requires(block[1], thread["THREADS"])
def deal_tiles(
    b: int32 @ block[1], blocks: int32 @ block[1], lengths: ptr(const(int32)) @ grid[1], groups: int32 @ block[1],
    many: int32 @ block[1], most: int32 @ block[1],
):
    """`WORK(segment, length, first, last, start, tiles)` for what block `b` has: as many tiles as others, or one less.

    There are `blocks` blocks, and `groups` of `many` segments. Those of group g have `lengths[g]` elements each, but not more
    than `most`; where not `UNEVEN`, `most`. Tiles of `SIZE` elements are numbered through all segments, and a block has some
    that follow one another: of each segment tiles `first` to `last`. The segment's own first tile is number `start` of `tiles` in
    all, which `grid.owners` asks for. A segment of no elements has a tile all the same, so each is some block's.

    Perspective: block, of `THREADS` threads.
    Shapes:      there is a segment at least, and fewer than 2^31 tiles in all. Blocks beyond their number have nothing.
    Cost:        two divisions for a segment. Where `UNEVEN`, each thread reads some lengths, twice; a scan of their tiles, and a
                 barrier.
    Source:      Osama et al., "Stream-K: work-centric parallel decomposition for dense matrix-matrix multiplication on the GPU".
    Test:        tests/lib/grid/test_deal_tiles.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    run: int32 @ block[1] = (groups + (THREADS - 1)) // THREADS
    before: int32[1] @ thread[1] = {0}
    each: int32 @ block[1] = grid.count_tiles(most, SIZE=SIZE)
    tiles: int32 @ block[1] = groups * many * each
    if UNEVEN:
        with group(thread[1]):
            for g in range(t * run, min(groups, (t + 1) * run), unroll=False):
                before[0] += grid.count_tiles(max(0, min(lengths[g], most)), SIZE=SIZE)
        of_one: int32 @ block[1] = block.scan(before, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
        tiles = many * of_one
    share: int32 @ block[1] = min(blocks, tiles)
    # Blocks with one more lie among the others: where each segment has as many blocks, none has parts of two.
    begin: int32 @ block[1] = min(int32(int64(b) * tiles // share), tiles - 1)
    end: int32 @ block[1] = int32(int64(b + 1) * tiles // share) if b < share else 0
    segment: int32 @ block[1] = begin // each
    start: int32 @ block[1] = segment * each  # the first of its tiles
    if UNEVEN:
        found: shared(int32[2])
        with partition(found, thread[1], races="allow") as own, group(thread[1]):  # one of them has the group
            at: int32 = many * before[0]
            for g in range(t * run, min(groups, (t + 1) * run), unroll=False):
                n: int32 = grid.count_tiles(max(0, min(lengths[g], most)), SIZE=SIZE)
                if at <= begin and begin < at + many * n:
                    own[0] = g * many + (begin - at) // n
                    own[1] = begin - (begin - at) % n
                at += many * n
        segment = found[0]
        start = found[1]
    while start < end:
        length: int32 @ block[1] = max(0, min(lengths[segment // many], most)) if UNEVEN else most
        n: int32 @ block[1] = grid.count_tiles(length, SIZE=SIZE)
        WORK(segment, length, max(begin - start, 0), min(n, end - start), start, tiles)
        segment += 1
        start += n
