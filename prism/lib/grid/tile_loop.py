"""The loop of persistent blocks: each publishes its following tile before it looks back for the one that it holds."""

from prism.lang import block, constexpr, function, grid, int32, prism, ptr, requires, template, thread, uint64


@prism("device")
@template(LOAD=function, LOOK_BACK=function, STORE=function, KEEP=function, THREADS=constexpr(int))
@requires(block[1], thread[THREADS])
def tile_loop(
    control: ptr(uint64) @ grid[1], tiles: int32 @ grid[1], counter: int32 @ block[1] = 0,
) -> grid.Ticket @ block[1]:
    """Do tiles `0 ... tiles - 1`, each by the block that draws it, by four functions; `grid.scan_tiles` is made of it.

    `LOAD(tile, epoch)` brings a tile into registers beside those of the tile that the block holds, and publishes what it comes
    to, with the launch's epoch. `LOOK_BACK(tile, epoch)` waits for what the tiles before the held one come to; at first, tile -1,
    there are none. `STORE(tile)` writes the held tile. `KEEP()` moves the loaded one to where it was. So a block has a tile's
    loads under way, and has published it, while it waits for others.

    Perspective: block, of `THREADS` threads.
    Shapes:      `control`, `counter`: as of `grid.tiles`.
    Returns:     the block's last ticket, whose tile is not below `tiles`. With number `tiles + blocks - 1` it is the last of
                 all, and this block calls `grid.count_launch`.
    Cost:        of a tile, what the functions take, `grid.draw` and `grid.next_tile`.
    Errors:      only `LOOK_BACK` may wait for other blocks, for what they publish of lower tiles.
    Source:      Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back".
    Test:        tests/lib/grid/test_scan_tiles.py
    """
    first: grid.Ticket @ block[1] = grid.tiles(control, counter)
    following: int32 @ block[1] = first.tile
    tile: int32 @ block[1] = -1  # the one that the block holds: none as yet
    while tile < tiles:
        ticket: uint64 @ thread[1] = 0
        if following < tiles:
            LOAD(following, first.epoch)
            ticket = grid.draw(control, counter)
        LOOK_BACK(tile, first.epoch)
        soon: int32 @ block[1] = grid.next_tile(ticket)  # not above: words are asked for while that is under way
        if tile >= 0:
            STORE(tile)
        if following < tiles:
            KEEP()
        tile = following
        following = soon
    return grid.Ticket(tile, first.epoch)
