"""Persistent blocks do tiles of which some elements are kept: of the tiles before, only their number is needed."""

from prism.lang import (
    block, claim, constexpr, count, function, grid, group, id, int32, int64, mailbox, partition, prism, ptr, requires, shared,
    split, template, thread, uint32, uint64, warp, warp_sum,
)
from prism.lib.thread import operators


@prism("device")
@template(LOAD=function, STORE=function, KEEP=function, THREADS=constexpr(int), WORDS=constexpr(int, default=2))
@requires(block[1], thread[THREADS])
def select_tiles(
    words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], blocks: int32 @ grid[1],
    tiles: int32 @ grid[1],
):
    """Do tiles `0 ... tiles - 1`, as `grid.scan_tiles`: numbers of 32 bits are published, and added up in 64.

    `LOAD(tile)` brings one into registers and returns how many of the thread's elements are kept. `STORE(tile, prefix, before,
    held)` writes the held one: so many are kept in the tiles before, in the warps before, and in the tile. `KEEP()` moves the
    loaded one to where the held one was.

    Perspective: block, of `THREADS` threads; `blocks`: how many there are in the grid.
    Shapes:      `words`, `capacity`, `control`: as of `grid.scan_tiles`.
    Cost:        of a tile, what the functions take, `grid.look_back_share`, and three sums of each warp; 64 words of shared
                 memory.
    Errors:      the functions must not wait for another block.
    Source:      Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back".
    Test:        tests/lib/grid/test_select_tiles.py
    """
    prefix: int64 @ block[1] = 0  # how many are kept before the held tile
    done: int32 @ block[1] = 0  # how many tiles' numbers are in it
    before: int32 @ thread[32] = 0  # of the held tile, how many of the warps before
    held: int32 @ block[1] = 0  # how many in all
    earlier: int32 @ thread[32] = 0  # the same of the following tile
    coming: int32 @ block[1] = 0
    w: int32 @ thread[32] = id()
    # Of the whole loop, not of a function: so they share no memory with a tile, and no barrier stands between.
    numbers: shared(int32[32]) @ block[1]
    shares: shared(uint32[32]) @ block[1]  # of what the tiles since the held one come to

    @requires(block[1], thread[THREADS])
    def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        """Have a tile loaded, count what is kept of it, and publish that."""
        nonlocal coming, earlier
        mine: int32 @ thread[1] = LOAD(tile)
        kept: int32 @ thread[32] = warp_sum(mine)
        with partition(numbers, thread[32], offset=w) as own, group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = kept
        coming = 0
        for v in range(count(warp[1])):
            coming = coming + numbers[v]
        lane: int32 @ thread[1] = id() % 32
        with group(thread[32]):
            earlier = warp_sum(numbers[lane] if lane < w else 0)
        grid.publish(words, tile, uint32(coming), epoch)

    @requires(block[1], thread[THREADS])
    def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        """Add up numbers of the tiles since the last held one, a share in each warp."""
        nonlocal done
        share: uint32 @ thread[1] = grid.look_back_share(
            words, done, tile, 0, epoch, OP=operators.add, THREADS=THREADS, WORDS=WORDS,
        )
        sum: uint32 @ thread[32] = warp_sum(share)
        with partition(shares, thread[32], offset=w) as own, group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
        done = max(tile, 0)

    @requires(block[1], thread[THREADS])
    def store(tile: int32 @ block[1]):
        """Add up the warps' shares, and have the held tile written."""
        nonlocal prefix
        between: uint32 @ block[1] = 0  # here, not in `look_back`: the loop's own barrier stands between
        for v in range(count(warp[1])):
            between = between + shares[v]
        prefix = prefix + int64(between)
        STORE(tile, prefix, before, held)

    @requires(block[1], thread[THREADS])
    def keep():
        """The loaded tile is the held one from here on."""
        nonlocal before, held
        before = earlier
        held = coming
        KEEP()

    last: grid.Ticket @ block[1] = grid.tile_loop(
        control, tiles, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS, ALWAYS=True,
    )
    if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
        grid.count_launch(control, words, capacity, tiles, last.epoch, 0)
