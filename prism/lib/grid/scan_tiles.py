"""Persistent blocks do tiles: each publishes its following one before it looks back for the one that it holds."""

from prism.lang import (
    block, claim, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox, partition, prism, ptr, requires,
    shared, split, template, thread, uint32, uint64, warp, warp_sum,
)
from prism.lib.grid.ticket import Ticket
from prism.lib.thread import operators


@prism.device
@template(
    LOAD=function, LOOK_BACK=function, STORE=function, KEEP=function, THREADS=constexpr(int),
    ALWAYS=constexpr(bool, default=False), ONCE=constexpr(bool, default=False),
)
@requires(block[1], thread["THREADS"])
def tile_loop(
    control: ptr(uint64) @ grid[1], tiles: int32 @ grid[1], counter: int32 @ block[1] = 0, own_tile: int32 @ block[1] = 0,
) -> Ticket @ block[1]:
    """Do tiles `0 ... tiles - 1`, each by the block that draws it, by four functions; `grid.scan_tiles` is made of it.

    `LOAD(tile, epoch)` brings a tile into registers beside those of the tile that the block holds, and publishes what it comes
    to, with the launch's epoch. `LOOK_BACK(tile, epoch)` waits for what the tiles before the held one come to; at first, tile -1,
    there are none. `STORE(tile)` writes the held tile. `KEEP()` moves the loaded one to where it was; `ALWAYS` behind the last
    one too, where nothing was loaded: registers are then moved, and not chosen. So a block has a tile's loads under way, and has
    published it, while it waits for others. `ONCE`: there are as many blocks as tiles, and each does `own_tile`, which is its
    number. It draws none, so it loads at once; `LOAD` then takes the epoch as a number of the first thread.

    Perspective: block, of `THREADS` threads.
    Shapes:      `control`, `counter`: as of `grid.tiles`; with `ONCE` as of `grid.epoch`, and `counter` is 0.
    Returns:     the block's last ticket, whose tile is not below `tiles`. With number `tiles + blocks - 1` it is the last of
                 all, and this block calls `grid.count_launch`.
    Cost:        of a tile, what the functions take, `grid.draw` and `grid.next_tile`.
    Errors:      only `LOOK_BACK` may wait for other blocks, for what they publish of lower tiles. With `ONCE` these are of blocks
                 with lower numbers, which begin before it.
    Source:      Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back".
    Test:        tests/lib/grid/test_scan_tiles.py
    """
    ticket_cell: shared(uint64[1]) @ block[1]  # what one thread reads or draws, for all
    epoch: uint32 @ block[1] = 0
    tile: int32 @ block[1] = own_tile if ONCE else -1  # the one that the block holds: none as yet
    if ONCE:
        agreed: uint32 @ thread[1] = grid.epoch(control)
        LOAD(tile, agreed)
        with claim(ticket_cell, thread[1]) as own:
            match split(thread):
                case 1:
                    own[0] = agreed  # here, not above: the loads of elements don't wait for this one
        KEEP()
        epoch = uint32(ticket_cell[0])
        LOOK_BACK(tile, epoch)
        STORE(tile)
        tile = 2 * tiles - 1 if tile == tiles - 1 else tiles  # the last one: all have read the epoch, for they have published
    else:
        first: uint64 @ thread[1] = grid.draw(control, counter)
        with claim(ticket_cell, thread[1]) as own:
            match split(thread):
                case 1:
                    own[0] = first
        epoch = uint32(ticket_cell[0] >> 32) + 1
        following: int32 @ block[1] = int32(ticket_cell[0])
        while tile < tiles:
            ticket: uint64 @ thread[1] = 0
            if following < tiles:
                LOAD(following, epoch)
                ticket = grid.draw(control, counter)
            LOOK_BACK(tile, epoch)
            with claim(ticket_cell, thread[1]) as own:
                match split(thread):
                    case 1:
                        if following < tiles:
                            own[0] = ticket  # here, not above: words are asked for while that is under way
            soon: int32 @ block[1] = int32(ticket_cell[0])
            if tile >= 0:
                STORE(tile)
            if ALWAYS:
                KEEP()
            elif following < tiles:
                KEEP()
            tile = following
            following = soon
    return Ticket(tile, epoch)


@prism.device
@template(
    T=dtype, OP=function, LOAD=function, KEEP=function, STORE=function, THREADS=constexpr(int), WORDS=constexpr(int, default=2),
    STABLE=constexpr(bool, default=False),
)
@requires(block[1], thread["THREADS"])
def scan_tiles(
    words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], blocks: int32 @ grid[1],
    tiles: int32 @ grid[1], identity: T @ block[1], initial: T @ block[1],
):
    """Scan tiles `0 ... tiles - 1`, each by the block that draws it: `OP` of `initial` and of all tiles before is its prefix.

    Three functions say what a tile is. `LOAD(tile)` brings one into registers beside those of the tile that the block
    holds, and returns what it comes to; the first thread's result counts. `KEEP()` moves it to where the held one was.
    `STORE(tile, prefix)` writes the held one. A block loads and publishes its following tile before it looks back for the one
    that it holds: while it waits, loads are under way. `grid.tile_loop` is the loop, for other totals and look-backs.

    Perspective: block, of `THREADS` threads; `blocks`: how many there are in the grid.
    Shapes:      `words`: `capacity` of them, at least one a tile, and `control`: as of `grid.publish` and `grid.tiles`.
    Cost:        of a tile, what the functions take, and `grid.look_back` of as many tiles as there are blocks, `WORDS` words of a
                 thread under way at once.
    Numerics:    reassociates `OP`: with `STABLE` in a way fixed by `tiles` and the template, else differently from run to run;
                 `OP` need not be commutative. `identity` is `OP`'s.
    Errors:      the functions must not wait for another block.
    Source:      Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back".
    Test:        tests/lib/grid/test_scan_tiles.py
    """
    prefixes: T[2] @ block[1]  # of the held tile; with STABLE also of the whole groups of tiles before it
    for k in range(2):
        prefixes[k] = initial
    done: int32 @ block[1] = 0  # how many tiles' totals are in them; with STABLE, in the second one
    between: T @ thread[1] = identity  # a share of what the first one lacks, where it is not STABLE

    @requires(block[1], thread["THREADS"])
    def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        total: T @ thread[1] = LOAD(tile)
        grid.publish(words, tile, total, epoch)

    @requires(block[1], thread["THREADS"])
    def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        nonlocal done, between
        if STABLE:
            grid.look_back_stable(words, done, tile, identity, epoch, prefixes, OP=OP, THREADS=THREADS, WORDS=WORDS)
        else:
            between = grid.look_back_share(words, done, tile, identity, epoch, OP=OP, THREADS=THREADS, WORDS=WORDS)
        done = tile // THREADS * THREADS if STABLE else max(tile, 0)

    @requires(block[1], thread["THREADS"])
    def store(tile: int32 @ block[1]):
        if not STABLE:  # here, not above: where no tile is held as yet there is nothing to combine
            prefixes[0] = OP(prefixes[0], block.reduce(between, OP=OP))
        STORE(tile, prefixes[0])

    last: Ticket @ block[1] = grid.tile_loop(
        control, tiles, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=KEEP, THREADS=THREADS,
    )
    if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
        grid.count_launch(control, words, capacity, tiles, last.epoch, identity)


@prism.device
@requires(block[1], thread[32])
def leave(before: int32 @ thread[32], kept: int32 @ block[1]):
    """What was loaded stays where it is."""


@prism.device
@template(
    LOAD=function, STORE=function, KEEP=function, PLACE=function(default=leave), THREADS=constexpr(int),
    WORDS=constexpr(int, default=2), ONCE=constexpr(bool, default=False),
)
@requires(block[1], thread["THREADS"])
def select_tiles(
    words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], blocks: int32 @ grid[1],
    tiles: int32 @ grid[1], own_tile: int32 @ block[1] = 0,
):
    """Do tiles `0 ... tiles - 1`, as `grid.scan_tiles`: numbers of 32 bits are published, and added up in 64.

    `LOAD(tile)` brings one into registers and returns how many of the thread's elements are kept. `STORE(tile, prefix, before,
    held)` writes the held one: so many are kept in the tiles before, in the warps before, and in the tile. `KEEP()` moves the
    loaded one to where the held one was. `PLACE(before, kept)` may put what is kept of the loaded one together, as soon as its
    number is published: so many are kept in the warps before, and in all. `ONCE`, `own_tile`: as of
    `grid.tile_loop`.

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

    @requires(block[1], thread["THREADS"])
    def load(tile: int32 @ block[1], epoch: uint32 @ thread[1]):
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
        PLACE(earlier, coming)

    @requires(block[1], thread["THREADS"])
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

    @requires(block[1], thread["THREADS"])
    def store(tile: int32 @ block[1]):
        """Add up the warps' shares, and have the held tile written."""
        nonlocal prefix
        between: uint32 @ block[1] = 0  # here, not in `look_back`: the loop's own barrier stands between
        for v in range(count(warp[1])):
            between = between + shares[v]
        prefix = prefix + int64(between)
        STORE(tile, prefix, before, held)

    @requires(block[1], thread["THREADS"])
    def keep():
        """The loaded tile is the held one from here on."""
        nonlocal before, held
        before = earlier
        held = coming
        KEEP()

    last: grid.Ticket @ block[1] = grid.tile_loop(
        control, tiles, 0, own_tile, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS, ALWAYS=True,
        ONCE=ONCE,
    )
    if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
        grid.count_launch(control, words, capacity, tiles, last.epoch, 0)
