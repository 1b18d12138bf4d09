"""A pass of a radix sort: elements are put in the order of one digit of their keys; those of equal digits keep their order.

A block draws a tile's number, counts the tile's digits and publishes how many there are of each (`prism.lib.grid`). It puts the
tile in the order of the digit in shared memory. How often each digit occurs in the tiles before says where the tile's part of it
belongs; that is asked for a trip of the loop later, when it is known, unless one tile alone has room in shared memory.

An element's rank is what an atomic addition returns. Nobody says which lane of a warp adds first, so elements of one digit may
change targets. That is looked for when the tile is written, and mended: the result does not depend on it.
"""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox, partition, popcount, prism,
    ptr, requires, shared, template, thread, uint16, uint32, uint64,
)
from prism.kernels.sort.order import INTEGER
from prism.kernels.sort.parts import (
    GIVEN, NONE, ask_for_keys, fetch_tile, make_keys, within_row, write_in_order, write_tile,
)
from prism.kernels.sort.ranking import count_tile, digits_before_windows, digits_passed, not_moved, rank_tile
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    K=dtype, V=dtype, VO=dtype, C=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    ITEMS=constexpr(int), BATCH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int), ROWS=constexpr(bool),
    AHEAD=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_digit(
    x: ptr(const(K)) @ grid[1], spare: ptr(K) @ grid[1], y: ptr(K) @ grid[1], given: ptr(const(V)) @ grid[1],
    value_spare: ptr(V) @ grid[1], values: ptr(V) @ grid[1], positions: ptr(VO) @ grid[1], counts: ptr(const(C)) @ grid[1],
    n: int64 @ grid[1], step: int32 @ grid[1], flip: K @ grid[1], lowest: K @ grid[1], words: ptr(mailbox(C)) @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], rows: int32 @ grid[1], moved: ptr(const(uint32)) @ grid[1],
    window: int32 @ grid[1],
):
    """Put `n` elements in the order of digit `step` of their keys, of 8 bits; the last pass of all has sorted them into `y`.

    Perspective: grid, of any number of blocks of `THREADS` threads, at least 256.
    Shapes:      `x`: bits of `n` numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`. `spare`, `y`:
                 `n` keys each, that the passes write in turn, and `value_spare`, `values` as many values beside them. `counts`:
                 of `count_digits`. `VALUES`: NONE; GIVEN, `given` has them; POSITIONS, where the key stood in `x`, of which the
                 last pass writes `positions`, and no keys. `V`: it holds a position. `C`: it holds twice as much as `n`. `words`:
                 `capacity` of them, at least 256 a tile; `control`: one word. All zero at first, and of no other use meanwhile.
                 With `ROWS` each of `rows` rows of `n` elements is sorted by itself: `counts` and `moved` are of `begin_rows`;
                 arrays have `rows * n` elements, and `C` holds twice as much. Else `rows` is 1. `AHEAD`: a block puts its next
                 tile in order before it writes the one that it holds, so that it waits for no tile before it, and shared memory
                 holds two; else one, that is larger. `window`, of one row: 0; or how many elements a window of `sort_windows`
                 has, which follows: passes by two digits are made, all where `moved[0]` says that these are crowded; or below 0:
                 passes are made where `moved[1]` says that windows were too full.
    Errors:      passes follow each other, one for each byte of a key, and find `counts` and both spare arrays as they left them.
    Cost:        a digit that all keys share costs a launch alone. An element is read once and written once in each other pass.
                 A block that holds one tile of keys alone draws its next one behind its look-back. So nobody waits for a tile
                 whose block waits for others before it reads it.
    Source:      Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs".
    Test:        tests/kernels/test_sort.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    WARPS: constexpr(int) = THREADS // 32
    HELD: constexpr(int) = 2 * TILE if AHEAD else TILE
    MANY: constexpr(int) = HELD if VALUES != NONE else 1
    LATE: constexpr(bool) = VALUES == NONE and not AHEAD
    a_row: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    tiles: int32 @ grid[1] = a_row * rows
    blocks: int32 @ grid[1] = count(block[1])
    shift: int32 @ grid[1] = 8 * step
    with (
        partition(spare, block[1], races="none") as spare_keys,
        partition(y, block[1], races="none") as y_keys,
        partition(value_spare, block[1], races="none") as spare_values,
        partition(values, block[1], races="none") as y_values,
        partition(positions, block[1], races="none") as result,
        group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        passed: uint32 @ block[1] = 0  # the passes, as bits, that are passed over
        low: int32 @ block[1] = -1  # the lowest digit of those that are moved before windows are sorted

        @requires(block[1], thread["THREADS"])
        def choose_passes():
            """Find which passes are passed over, and whether windows are sorted behind them."""
            nonlocal passed, low
            if ROWS:
                passed = not_moved(moved, PASSES=K.bytes)
            elif window > 0:
                crowded: bool @ block[1] = moved[0] != 0
                passed = digits_before_windows(counts, n, window, crowded, PASSES=K.bytes)
                low = int32(passed >> 16) - 1
                passed = passed & (1 << K.bytes) - 1
            elif window == 0 or moved[1] != 0:
                passed = digits_passed(counts, n, PASSES=K.bytes)
            else:
                passed = (1 << K.bytes) - 1

        choose_passes()
        first: bool @ block[1] = passed & (uint32(1) << step) - 1 == (uint32(1) << step) - 1  # nothing has been moved so far
        behind: int32 @ block[1] = K.bytes - 1 - step - int32(popcount(passed >> step + 1))  # how many passes will move something

        @requires(block[1], thread["THREADS"])
        def move_tiles():
            """Draw tiles, put each in the order of the digit, and write it where its digits belong, until all are drawn."""
            starts: C[1] @ thread[1]  # where digit `t` begins in the whole array
            if not ROWS:
                starts[0] = counts[step * 256 + t % 256] if t < 256 else 0
                block.scan(starts, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
            table: shared(uint32[WARPS * 256])
            common: shared(int32[1])
            sorted: shared(K[HELD])  # the held tile, and with AHEAD the following one
            beside: shared(V[MANY])  # their values
            ids: shared(uint16[HELD if VALUES == GIVEN else 1])  # where they stood in the tile
            targets: shared(C[256])
            buffer: int32 @ block[1] = 0  # where the held tile begins
            held: uint32[2] @ thread[1]  # how often digit `t` occurs in it, and where it begins there
            in_order: bool @ block[1] = False  # its ranks are sure, or need not be
            ahead: uint32[2] @ thread[1]  # the same of the following one
            slowly: bool @ block[1] = False
            keys: K[ITEMS] @ thread[1]
            items: V[ITEMS if VALUES != NONE else 1] @ thread[1]

            @requires(block[1], thread["THREADS"])
            def fetch(tile: int32 @ block[1]):
                """Load a tile's elements into registers, as the pass before has left them."""
                fetch_tile(
                    x, given, spare_keys, spare_values, y_keys, y_values, keys, items, tile, tile + blocks, n, rows, first,
                    behind, VALUES=VALUES, THREADS=THREADS, ROWS=ROWS, SOON=not LATE,
                )

            @requires(block[1], thread["THREADS"])
            def ask_for(tile: int32 @ block[1]):
                """Ask for the keys of a tile to be brought into the L2."""
                ask_for_keys(x, spare_keys, y_keys, tile, n, rows, first, behind, TILE=TILE, ROWS=ROWS)

            @requires(block[1], thread["THREADS"])
            def order(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                """Count the digits of the tile that was fetched, publish them, and put it in order behind the held one."""
                nonlocal slowly
                within: int32 @ block[1] = within_row(tile, n, TILE=TILE, ROWS=ROWS)
                make_keys(keys, items, within, n, flip, lowest, first, KIND=KIND, VALUES=VALUES, THREADS=THREADS)
                slowly = count_tile(table, common, keys, ahead, shift, flip, lowest, KIND=KIND, THREADS=THREADS)
                grid.publish_digits(words, tile, C(ahead[0]), epoch, tile - within, THREADS=THREADS, DIGITS=256)
                often: int32 @ block[1] = common[0]
                rank_tile(
                    table, keys, items, sorted, beside, ids, TILE - buffer if AHEAD else 0, shift, lowest, often, slowly,
                    KIND=KIND, VALUES=VALUES, BATCH=BATCH,
                )

            @requires(block[1], thread["THREADS"])
            def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                """Ask how often each digit occurs in the tiles before, and so find where the held tile's part of it belongs."""
                if tile >= 0:
                    find_targets(
                        words, counts, targets, starts, held, tile, epoch, n, step, PASSES=K.bytes, TILE=TILE, THREADS=THREADS,
                        WORDS=WORDS, ROWS=ROWS,
                    )

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1]):
                """Write the held tile where its digits belong."""
                many: int32 @ block[1] = extent(within_row(tile, n, TILE=TILE, ROWS=ROWS), n, TILE=TILE)
                with (
                    partition(sorted, block[1], offset=buffer) as part,
                    partition(beside, block[1], offset=buffer if VALUES != NONE else 0) as value_part,
                    partition(ids, block[1], offset=buffer if VALUES == GIVEN else 0) as id_part,
                ):
                    @requires(block[1], thread["THREADS"])
                    def write(
                        keys_of: ptr(const(K)) @ block[1], values_of: ptr(const(V)) @ block[1],
                        ids_of: ptr(const(uint16)) @ block[1],
                    ) -> bool @ block[1]:
                        """Write all; say whether two elements stand in the wrong order."""
                        return write_tile(
                            keys_of, values_of, ids_of, targets, spare_keys, spare_values, y_keys, y_values, result, many, shift,
                            flip, lowest, behind, in_order, low, KIND=KIND, VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS,
                            BATCH=BATCH,
                        )

                    write_in_order(
                        part, value_part, id_part, many, shift, lowest, in_order, low, KIND=KIND, VALUES=VALUES, WHOLE=TILE,
                        THREADS=THREADS, WRITE=write,
                    )

            @requires(block[1], thread["THREADS"])
            def hold():
                """The tile that was put in order becomes the held one."""
                nonlocal in_order, buffer
                if AHEAD:
                    buffer = TILE - buffer
                in_order = slowly or (first and VALUES == NONE)  # equal keys alone are the same, but for zeros
                held[0] = ahead[0]
                held[1] = ahead[1]

            launch: grid.Ticket @ block[1] = grid.tiles(control)
            if not LATE and launch.tile < tiles:
                fetch(launch.tile)
            tile: int32 @ block[1] = 0
            if AHEAD:
                tile = move_ahead(
                    control, launch, tiles, FETCH=fetch, ORDER=order, HOLD=hold, LOOK_BACK=look_back, STORE=store,
                    THREADS=THREADS,
                )
            else:
                tile = move_one_by_one(
                    control, launch, tiles, FETCH=fetch, ORDER=order, HOLD=hold, LOOK_BACK=look_back, STORE=store,
                    ASK_FOR=ask_for, LATE=LATE, THREADS=THREADS,
                )
            if tile == tiles + blocks - 1:  # every block has drawn its last ticket
                grid.count_launch(control, words, capacity, tiles * 256, launch.epoch, 0)

        if (passed >> step & 1) == 0:
            move_tiles()


@prism.device
@requires(block[1], thread["THREADS"])
@template(
    C=dtype, PASSES=constexpr(int), TILE=constexpr(int), THREADS=constexpr(int), WORDS=constexpr(int), ROWS=constexpr(bool),
)
def find_targets(
    words: ptr(mailbox(C)) @ grid[1], counts: ptr(const(C)) @ grid[1], targets: ptr(C) @ block[1], starts: C[1] @ thread[1],
    held: uint32[2] @ thread[1], tile: int32 @ block[1], epoch: uint32 @ block[1], n: int64 @ grid[1], step: int32 @ grid[1],
):
    """Ask how often each digit occurs in the tiles before: so `targets` is where the held tile's part of it belongs.

    `starts`: where digit `t` begins in the array, in thread `t`; with `ROWS` it is read. `held`: how often it occurs in the tile,
    and where it begins there.
    """
    t: int32 @ thread[1] = id()
    within: int32 @ block[1] = within_row(tile, n, TILE=TILE, ROWS=ROWS)
    if ROWS:
        starts[0] = counts[(tile // int32((n + (TILE - 1)) // TILE) * PASSES + step) * 256 + t % 256]
    before: C @ thread[1] = grid.look_back_digits(
        words, tile, C(held[0]), epoch, tile - within, THREADS=THREADS, DIGITS=256, WORDS=WORDS,
    )
    with partition(targets, thread[1], offset=t) as own, group(thread[1]):
        if t < 256:
            own[0] = starts[0] + before - C(held[1])


@prism.device
@requires(block[1], thread["THREADS"])
@template(
    FETCH=function, ORDER=function, HOLD=function, LOOK_BACK=function, STORE=function, THREADS=constexpr(int),
)
def move_ahead(
    control: ptr(uint64) @ grid[1], launch: grid.Ticket @ block[1], tiles: int32 @ block[1],
) -> int32 @ block[1]:
    """Move tiles; each is put in order before the one that is held is written. Returns the last number that was drawn."""
    tile: int32 @ block[1] = -1  # the one that the block holds: none as yet
    following: int32 @ block[1] = launch.tile
    while tile < tiles:
        ticket: uint64 @ thread[1] = 0
        if following < tiles:
            ORDER(following, launch.epoch)
            ticket = grid.draw(control)
        LOOK_BACK(tile, launch.epoch)
        soon: int32 @ block[1] = grid.next_tile(ticket)
        if following < tiles and soon < tiles:
            FETCH(soon)  # under way while the held tile is written
        if tile >= 0:
            STORE(tile)
        if following < tiles:
            HOLD()
        tile = following
        following = soon
    return tile


@prism.device
@requires(block[1], thread["THREADS"])
@template(
    FETCH=function, ORDER=function, HOLD=function, LOOK_BACK=function, STORE=function, ASK_FOR=function, LATE=constexpr(bool),
    THREADS=constexpr(int),
)
def move_one_by_one(
    control: ptr(uint64) @ grid[1], launch: grid.Ticket @ block[1], tiles: int32 @ block[1],
) -> int32 @ block[1]:
    """Move tiles; each is put in order, and then written while the next one is fetched. Returns the last number that was drawn.

    `LATE`: the next one is drawn behind the look-back, and fetched when all is written. So no tile that others wait for waits
    for one before it itself, and registers hold one tile alone.
    """
    tile: int32 @ block[1] = launch.tile
    while tile < tiles:
        if LATE:
            FETCH(tile)  # not at the end: so no register holds a key meanwhile
        ORDER(tile, launch.epoch)
        ticket: uint64 @ thread[1] = 0
        if not LATE:
            ticket = grid.draw(control)
        HOLD()
        LOOK_BACK(tile, launch.epoch)
        if LATE:
            ticket = grid.draw(control)
        following: int32 @ block[1] = grid.next_tile(ticket)
        if LATE:
            ASK_FOR(following)
        elif following < tiles:
            FETCH(following)
        STORE(tile)
        tile = following
    return tile


EXAMPLES = {
    "sort_digit": {
        "K": "uint32", "V": "uint32", "VO": "int64", "C": "uint32", "KIND": INTEGER, "VALUES": NONE, "THREADS": 256, "ITEMS": 48,
        "BATCH": 4, "BLOCKS": 2, "WORDS": 4, "ROWS": False, "AHEAD": True,
    },
}
