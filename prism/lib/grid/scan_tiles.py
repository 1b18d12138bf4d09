"""Persistent blocks scan tiles: each loads the following tile before it looks back for the one that it holds."""

from prism.lang import (
    block, constexpr, dtype, function, grid, int32, mailbox, prism, ptr, requires, template, thread, uint32, uint64,
)


@prism("device")
@template(
    T=dtype, OP=function, LOAD=function, KEEP=function, STORE=function, THREADS=constexpr(int), WORDS=constexpr(int, default=2),
    STABLE=constexpr(bool, default=False),
)
@requires(block[1], thread[THREADS])
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

    @requires(block[1], thread[THREADS])
    def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        total: T @ thread[1] = LOAD(tile)
        grid.publish(words, tile, total, epoch)

    @requires(block[1], thread[THREADS])
    def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
        nonlocal done
        if STABLE:
            grid.look_back_stable(words, done, tile, identity, epoch, prefixes, OP=OP, THREADS=THREADS, WORDS=WORDS)
        else:
            between: T @ block[1] = grid.look_back(words, done, tile, identity, epoch, OP=OP, THREADS=THREADS, WORDS=WORDS)
            prefixes[0] = OP(prefixes[0], between)
        done = tile / THREADS * THREADS if STABLE else max(tile, 0)

    @requires(block[1], thread[THREADS])
    def store(tile: int32 @ block[1]):
        STORE(tile, prefixes[0])

    last: grid.Ticket @ block[1] = grid.tile_loop(
        control, tiles, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=KEEP, THREADS=THREADS,
    )
    if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
        grid.count_launch(control, words, capacity, tiles, last.epoch, identity)
