"""The loop of what puts a tile's elements into two or three arrays: of the tiles before only two numbers are needed."""

from prism.lang import (
    block, claim, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox, partition, prism, ptr, requires,
    shared, split, template, thread, uint32, uint64, warp, warp_sum,
)
from prism.lib.thread import extent, operators


@prism.device
@requires(block[1], thread[32])
def leave_parts(before: int32[2] @ thread[32], kept: int32 @ block[1], others_kept: int32 @ block[1]):
    """What was loaded stays where it is."""


@prism.device
@template(
    W=dtype, LOAD=function, STORE=function, KEEP=function, PLACE=function(default=leave_parts), WAYS=constexpr(int),
    THREADS=constexpr(int), WORDS=constexpr(int), ONCE=constexpr(bool, default=False),
)
@requires(block[1], thread["THREADS"])
def part_tiles(
    words: ptr(mailbox(W)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], blocks: int32 @ grid[1],
    tiles: int32 @ grid[1], number: ptr(int64) @ block[1], other_number: ptr(int64) @ block[1],
    own_tile: int32 @ block[1] = 0,
):
    """Do tiles `0 ... tiles - 1`, as `grid.select_tiles`: some of each go to a first array, some of the others to a second one.

    `LOAD(tile)` brings one into registers and returns how many of the thread's elements go to the first, and above 16 bits to the
    second. `PLACE(before, kept, others_kept)` may put them together: so many of both are in the warps before, and in the tile.
    `STORE(tile, prefix, other_prefix, kept, others_kept)` writes the held one: so many of both are in the tiles before.
    `KEEP(before, kept, others_kept)` moves the loaded one to where the held one was. `ONCE`, `own_tile`: as
    of `grid.tile_loop`.

    Perspective: block, of `THREADS` threads; `blocks`: how many there are in the grid.
    Shapes:      `words`: of uint32, with three `WAYS` of uint64; they, `capacity`, `control`: as of `grid.scan_tiles`. A tile has
                 fewer than 2^16 elements. `number[0]` becomes how many go to the first array, `other_number[0]` to the second;
                 with two `WAYS` that is not touched.
    Cost:        of a tile, what the functions take, `grid.look_back`, and two sums of each warp; 32 words of shared memory.
    Errors:      the functions must not wait for another block.
    Test:        tests/kernels/test_select.py
    """
    prefix: int64 @ block[1] = 0  # how many go to the first before the held tile
    other_prefix: int64 @ block[1] = 0
    done: int32 @ block[1] = 0  # how many tiles' counts are in them
    held: int32 @ block[1] = 0  # how many of the held tile go to the first
    others_held: int32 @ block[1] = 0
    coming: int32 @ block[1] = 0  # the same of the following tile
    others_coming: int32 @ block[1] = 0
    earlier: int32[2] @ thread[32]  # how many of both in the warps before
    earlier[0] = 0
    earlier[1] = 0

    @requires(block[1], thread["THREADS"])
    def load(tile: int32 @ block[1], epoch: uint32 @ thread[1]):
        """Have a tile loaded, count what goes where, and publish that."""
        nonlocal coming, others_coming
        both: uint32 @ thread[1] = LOAD(tile)
        coming, others_coming = count_both(both, earlier)
        if WAYS == 3:
            grid.publish(words, tile, W(coming) + (W(others_coming) << 32), epoch)
        else:
            grid.publish(words, tile, W(coming), epoch)
        PLACE(earlier, coming, others_coming)

    @requires(block[1], thread["THREADS"])
    def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        """Add up how many elements of the tiles before go to both."""
        nonlocal prefix, other_prefix, done
        between: W @ block[1] = grid.look_back(
            words, done, tile, 0, epoch, OP=operators.add, THREADS=THREADS, WORDS=WORDS,
        )
        prefix = prefix + int64(uint32(between))
        if WAYS == 3:
            other_prefix = other_prefix + int64(between >> 32)
        done = max(tile, 0)

    @requires(block[1], thread["THREADS"])
    def store(tile: int32 @ block[1]):
        """Have the held tile written; of the last tile how many there are in all."""
        last: int32 @ block[1] = 1 if tile == tiles - 1 else 0
        block.fill(number, prefix + held, last)  # first: a host that waits goes on then
        if WAYS == 3:
            block.fill(other_number, other_prefix + others_held, last)
        STORE(tile, prefix, other_prefix, held, others_held)

    @requires(block[1], thread["THREADS"])
    def keep():
        """The loaded tile is the held one from here on."""
        nonlocal held, others_held
        held = coming
        others_held = others_coming
        KEEP(earlier, coming, others_coming)

    last: grid.Ticket @ block[1] = grid.tile_loop(
        control, tiles, 0, own_tile, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS, ALWAYS=True,
        ONCE=ONCE,
    )
    if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
        grid.count_launch(control, words, capacity, tiles, last.epoch, 0)


@prism.device
@template(
    LOAD=function, COUNT=function, PLACE=function, MERGE=function, STORE=function, TILE=constexpr(int), THREADS=constexpr(int),
    WORDS=constexpr(int),
)
@requires(block[1], thread["THREADS"])
def held_parts(
    words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], blocks: int32 @ grid[1],
    tiles: int32 @ grid[1], n: int64 @ grid[1], number: ptr(int64) @ block[1], other_number: ptr(int64) @ block[1],
):
    """Do the tiles of `TILE` elements of `n`, as `part_tiles` with two `WAYS`, by the functions that `direct_parts` takes.

    A tile is put together while the one before it is held: `PLACE(half, ...)` and `STORE(half, ...)` say in which of two.

    Perspective: block, of `THREADS` threads; `blocks`: how many there are in the grid.
    Shapes:      as of `direct_parts`; `other_number` is not touched.
    Cost:        as of `part_tiles`.
    Errors:      the functions must not wait for another block.
    Test:        tests/kernels/test_long_bytes.py
    """
    half: int32 @ block[1] = 0  # where the held tile is
    loaded: int32 @ block[1] = 0  # how many elements the other one has

    @requires(block[1], thread["THREADS"])
    def load(tile: int32 @ block[1]) -> uint32 @ thread[1]:
        """Have a tile loaded, and find out which elements go where."""
        nonlocal loaded
        loaded = extent(tile, n, TILE=TILE)
        LOAD(tile, loaded)
        return COUNT(tile, loaded)

    @requires(block[1], thread["THREADS"])
    def place(before: int32[2] @ thread[32], coming: int32 @ block[1], others_coming: int32 @ block[1]):
        """Have the loaded tile put together."""
        PLACE(1 - half, loaded, before, coming, others_coming)
        MERGE()

    @requires(block[1], thread["THREADS"])
    def store(
        tile: int32 @ block[1], prefix: int64 @ block[1], other_prefix: int64 @ block[1], held: int32 @ block[1],
        others_held: int32 @ block[1],
    ):
        """Have the held tile written."""
        STORE(half, tile, extent(tile, n, TILE=TILE), prefix, other_prefix, held, others_held)

    @requires(block[1], thread["THREADS"])
    def keep(before: int32[2] @ thread[32], coming: int32 @ block[1], others_coming: int32 @ block[1]):
        """The loaded tile is the held one from here on."""
        nonlocal half
        half = 1 - half

    part_tiles(
        words, capacity, control, blocks, tiles, number, other_number, LOAD=load, STORE=store, KEEP=keep, PLACE=place, WAYS=2,
        THREADS=THREADS, WORDS=WORDS,
    )


@prism.device
@requires(block[1], thread[32])
def count_both(both: uint32 @ thread[1], before: int32[2] @ thread[32]) -> (int32, int32) @ block[1]:
    """The sums of two numbers of all threads, each in 16 bits; `before` becomes the sums of the warps before.

    Perspective: block, of any number of warps.
    Shapes:      both sums are below 2^16.
    Cost:        a sum of each warp; one barrier; 32 words of shared memory.
    """
    w: int32 @ thread[32] = id()
    sum: uint32 @ thread[32] = warp_sum(both)
    numbers: shared(uint32[32]) @ block[1]
    with partition(numbers, thread[32], offset=w) as own, group(thread[32]):
        with claim(own, thread[1]) as slot:
            match split(thread):
                case 1:
                    slot[0] = sum
    total: uint32 @ block[1] = 0
    for v in range(count(warp[1])):
        total = total + numbers[v]
    lane: int32 @ thread[1] = id() % 32
    with group(thread[32]):
        earlier: uint32 @ thread[32] = warp_sum(numbers[lane] if lane < w else 0)
        before[0] = int32(earlier & 0xFFFF)
        before[1] = int32(earlier >> 16)
    return int32(total & 0xFFFF), int32(total >> 16)
