"""Tiles of which only it is known how many elements are kept, and how many in the tiles before: the loop of all selections."""

from prism.lang import (
    block, constexpr, function, grid, int32, int64, mailbox, prism, ptr, requires, template, thread, uint32, uint64,
)
from prism.lib.thread import operators


@prism("device")
@template(LOAD=function, STORE=function, KEEP=function, THREADS=constexpr(int), WORDS=constexpr(int))
@requires(block[1], thread[THREADS])
def count_tiles(
    words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], blocks: int32 @ grid[1],
    tiles: int32 @ grid[1],
):
    """Do tiles `0 ... tiles - 1`, as `grid.scan_tiles`: numbers of 32 bits are published, and added up in 64.

    `LOAD(tile)` brings one into registers and returns how many it has, the same in all threads; `STORE(tile, prefix)` writes the
    held one, with how many the tiles before it have; `KEEP()` moves the loaded one to where the held one was.

    Perspective: block, of `THREADS` threads; `blocks`: how many there are in the grid.
    Shapes:      `words`, `capacity`, `control`: as of `grid.scan_tiles`.
    """
    prefix: int64 @ block[1] = 0  # how many are kept before the held tile
    done: int32 @ block[1] = 0  # how many tiles' numbers are in it

    @requires(block[1], thread[THREADS])
    def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        coming: int32 @ block[1] = LOAD(tile)
        grid.publish(words, tile, uint32(coming), epoch)

    @requires(block[1], thread[THREADS])
    def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        nonlocal prefix, done
        between: uint32 @ block[1] = grid.look_back(
            words, done, tile, 0, epoch, OP=operators.add, THREADS=THREADS, WORDS=WORDS,
        )
        prefix = prefix + int64(between)
        done = max(tile, 0)

    @requires(block[1], thread[THREADS])
    def store(tile: int32 @ block[1]):
        STORE(tile, prefix)

    last: grid.Ticket @ block[1] = grid.tile_loop(
        control, tiles, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=KEEP, THREADS=THREADS,
    )
    if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
        grid.count_launch(control, words, capacity, tiles, last.epoch, 0)
