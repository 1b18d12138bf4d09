"""The loop of what is put into three parts as soon as it is counted: of the tiles before only two numbers are needed."""

from prism.lang import (
    block, claim, constexpr, count, function, grid, group, id, int32, int64, mailbox, partition, prism, ptr, requires, shared,
    split, template, thread, uint32, uint64, warp, warp_sum,
)
from prism.kernels.select.direct_loop import direct_loop
from prism.kernels.select.part_loop import count_both
from prism.lib.thread import operators


@prism.device
@template(
    LOAD=function, COUNT=function, PLACE=function, MERGE=function, STORE=function, TILE=constexpr(int), THREADS=constexpr(int),
    WORDS=constexpr(int),
)
@requires(block[1], thread["THREADS"])
def direct_parts(
    words: ptr(mailbox(uint64)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], blocks: int32 @ grid[1],
    tiles: int32 @ grid[1], n: int64 @ grid[1], number: ptr(int64) @ block[1], other_number: ptr(int64) @ block[1],
):
    """Do the tiles of `TILE` elements of `n`, as `direct_loop` without `HOLD`: some go to a first array, some to a second one.

    `LOAD`, `MERGE`: as of `direct_loop`. `COUNT(tile, many)` returns how many of the thread's elements go to the first, and
    above 16 bits to the second. `PLACE(0, many, before, kept, others_kept)` puts them together, as so many of both are in the
    warps before, and in the tile. `STORE(0, tile, many, prefix, other_prefix, kept, others_kept)` writes them, as so many are in
    the tiles before. The zeros say which of the tiles in shared memory: there is one, where `held_parts` has two.

    Perspective: block, of `THREADS` threads; `blocks`: how many there are in the grid.
    Shapes:      `words`, `capacity`, `control`: as of `grid.scan_tiles`. A tile has fewer than 2^16 elements. `number[0]` becomes
                 how many go to the first array, `other_number[0]` to the second.
    Cost:        of a tile, what the functions take, `grid.look_back_share`, four sums of each warp, and three barriers; 100 words
                 of shared memory.
    Errors:      the functions must not wait for another block.
    Test:        tests/kernels/test_long_bytes.py
    """
    prefix: int64 @ block[1] = 0  # how many go to the first before the tile
    other_prefix: int64 @ block[1] = 0
    done: int32 @ block[1] = 0  # how many tiles' counts are in them
    kept: int32 @ block[1] = 0  # how many of the tile go to the first
    others_kept: int32 @ block[1] = 0
    earlier: int32[2] @ thread[32]  # how many of both in the warps before
    earlier[0] = 0
    earlier[1] = 0
    w: int32 @ thread[32] = id()
    shares: shared(uint32[64], align=16) @ block[1]  # a warp's two: what the tiles before come to

    @requires(block[1], thread["THREADS"])
    def find(tile: int32 @ block[1], many: int32 @ block[1], epoch: uint32 @ block[1]):
        """Count what goes where, and publish that."""
        nonlocal kept, others_kept
        both: uint32 @ thread[1] = COUNT(tile, many)
        kept, others_kept = count_both(both, earlier)
        grid.publish(words, tile, uint64(kept) + (uint64(others_kept) << 32), epoch)

    @requires(block[1], thread["THREADS"])
    def place(many: int32 @ block[1]):
        """Have the tile put together."""
        PLACE(0, many, earlier, kept, others_kept)

    @requires(block[1], thread["THREADS"])
    def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        """Add up counts of the tiles since the block's last one, a share in each warp."""
        nonlocal done
        share: uint64 @ thread[1] = grid.look_back_share(
            words, done, tile, 0, epoch, OP=operators.add, THREADS=THREADS, WORDS=WORDS,
        )
        done = tile
        low: uint32 @ thread[32] = warp_sum(uint32(share))
        high: uint32 @ thread[32] = warp_sum(uint32(share >> 32))
        with partition(shares, thread[32], offset=2 * w) as own, group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = low
                        slot[1] = high

    @requires(block[1], thread["THREADS"])
    def store(tile: int32 @ block[1], many: int32 @ block[1], last: int32 @ block[1]):
        """Add up the warps' shares, and have the tile written; of the last one how many there are in all."""
        nonlocal prefix, other_prefix
        between: uint32 @ block[1] = 0
        others_between: uint32 @ block[1] = 0
        for v in range(count(warp[1])):
            between = between + shares[2 * v]
            others_between = others_between + shares[2 * v + 1]
        prefix = prefix + int64(between)
        other_prefix = other_prefix + int64(others_between)
        block.fill(number, prefix + kept, last)  # first: a host that waits goes on then
        block.fill(other_number, other_prefix + others_kept, last)
        STORE(0, tile, many, prefix, other_prefix, kept, others_kept)

    @requires(block[1], thread["THREADS"])
    def keep():
        """Nothing is held."""

    final: grid.Ticket @ block[1] = direct_loop(
        control, tiles, n, LOAD=LOAD, COUNT=find, PLACE=place, MERGE=MERGE, LOOK_BACK=look_back, STORE=store, KEEP=keep,
        HOLD=False, TILE=TILE, THREADS=THREADS,
    )
    if final.tile == tiles + blocks - 1:  # every block has drawn its last ticket
        grid.count_launch(control, words, capacity, tiles, final.epoch, 0)
