"""The loop of what puts a tile together as soon as it is counted: the next one is asked for before this one is written."""

from prism.lang import (
    block, claim, constexpr, function, grid, int32, int64, prism, ptr, requires, shared, split, template, thread, uint32, uint64,
)


@prism.device
@template(
    LOAD=function, COUNT=function, PLACE=function, MERGE=function, LOOK_BACK=function, STORE=function, KEEP=function,
    HOLD=constexpr(bool), TILE=constexpr(int), THREADS=constexpr(int),
)
@requires(block[1], thread["THREADS"])
def direct_loop(control: ptr(uint64) @ grid[1], tiles: int32 @ grid[1], n: int64 @ grid[1]) -> grid.Ticket @ block[1]:
    """Do the tiles of `TILE` elements of `n`, each by the block that draws it.

    `LOAD(tile, many)` asks for a tile of `many` elements. `COUNT(tile, many, epoch)` says what it comes to, and publishes
    that. `PLACE(many)` puts it together in shared memory; behind a barrier `MERGE()` ends that. `KEEP()` makes it the one that
    is written next. `LOOK_BACK(tile, epoch)` finds what the tiles before come to, a share in each warp, and `STORE(tile, many,
    last)` writes the tile; `last`: 1 of the last one of all. With `HOLD` that is the tile before the one that was put together:
    so others have published their counts for long, but there must be room for two. Without, it is this one.

    So a tile's loads are under way while one before is looked back for and written, and the number of the next one is drawn,
    and what this one comes to is known to others, while it is put together.

    Perspective: block, of `THREADS` threads.
    Shapes:      `control`: as of `grid.tiles`.
    Returns:     as `grid.tile_loop`.
    Cost:        of a tile, what the functions take, and a barrier.
    Errors:      only `LOOK_BACK` may wait for other blocks, for what they publish of lower tiles.
    Test:        tests/kernels/test_long_bytes.py
    """
    cell: shared(uint32[4], align=16) @ block[1]  # a tile, of how many elements it is, whether it is the last, and the epoch

    @requires(block[1], thread["THREADS"])
    def tell(ticket: uint64 @ thread[1]):
        """The first thread says which tile is next: no other has to compute that."""
        with claim(cell, thread[1]) as own:
            match split(thread):
                case 1:
                    next: int32 = int32(ticket)
                    own[0] = uint32(ticket)
                    own[1] = uint32(thread.extent(next, n, TILE=TILE))
                    own[2] = 1 if next == tiles - 1 else 0
                    own[3] = uint32(ticket >> 32) + 1

    tell(grid.draw(control, 0))
    tile: int32 @ block[1] = int32(cell[0])
    many: int32 @ block[1] = int32(cell[1])
    last: int32 @ block[1] = int32(cell[2])
    epoch: uint32 @ block[1] = cell[3]
    held: int32 @ block[1] = 0  # the tile that is written next
    held_many: int32 @ block[1] = 0  # 0: there is none
    held_last: int32 @ block[1] = 0
    if many > 0:
        LOAD(tile, many)
    while many + held_many > 0:
        if many > 0:
            COUNT(tile, many, epoch)
            ticket: uint64 @ thread[1] = grid.draw(control, 0)
            PLACE(many)
            tell(ticket)
        soon: int32 @ block[1] = int32(cell[0])
        soon_many: int32 @ block[1] = int32(cell[1])
        soon_last: int32 @ block[1] = int32(cell[2])
        if many > 0:
            MERGE()
            if soon_many > 0:
                LOAD(soon, soon_many)
        if HOLD:
            if held_many > 0:
                LOOK_BACK(held, epoch)
                STORE(held, held_many, held_last)
            KEEP()
            held = tile
            held_many = many
            held_last = last
        else:
            KEEP()
            LOOK_BACK(tile, epoch)
            STORE(tile, many, last)
        tile = soon
        many = soon_many
        last = soon_last
    return grid.Ticket(tile, epoch)
