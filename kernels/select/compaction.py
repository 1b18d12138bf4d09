"""Selection in one pass: what is kept of an array, or where it stands, close together and in its order.

Each tile's flags are bits of a word a thread, and they are counted as soon as it is loaded. Of the tiles before, only their
counts are needed, as of a scan: published in 32 bits, and added up in 64. Once they are known, the tile's vectors can be those of
the result.
"""

from prism.lang import (
    attr, block, broadcast, const, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox,
    partition, popcount, prism, ptr, requires, shuffle_up, template, thread, uint32, uint64,
)
from prism.kernels.select.answers import flags_of_answers
from prism.kernels.select.conditions import differs, is_set
from prism.kernels.select.packed import edges_of_bytes, load_flags, load_held, release


@prism.kernel
@template(
    T=dtype, H=dtype, TI=dtype, M=dtype, C=dtype, TO=dtype, TEST=function, OWN=constexpr(bool), EDGES=constexpr(bool),
    PLACES=constexpr(bool), GIVEN=constexpr(bool, default=False), BYTES=constexpr(bool, default=False), THREADS=constexpr(int),
    ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int),
    ONCE=constexpr(bool, default=False),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def select(
    x: ptr(const(TI)) @ grid[1], mask: ptr(const(M)) @ grid[1], y: ptr(TO) @ grid[1], kept: ptr(int64) @ grid[1],
    n: int64 @ grid[1], room: int64 @ grid[1], skew: int32 @ grid[1], mask_skew: int32 @ grid[1], y_skew: int32 @ grid[1],
    otherwise: T @ grid[1], unset: C @ grid[1], words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1],
    control: ptr(uint64) @ grid[1],
):
    """`y` becomes what is kept of `x`, in its order, at most `room` elements of it; `kept[0]` how many are kept in all.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`, `mask`: `n` elements, at least one. Element `i` is kept where `TEST(mask[i])`. With `OWN`
                 `mask` is not read: `x` is taken for it; but with `GIVEN` too, where `TEST` is called with `x[i]` and
                 `mask[0]`. With `EDGES` element `i` of `x` is kept where it is not equal to the one before, and element 0. With
                 `PLACES` `x` is not read, and `y` has positions: `TO` is int64, `T` an integer that holds the tile's size.
                 `H`: `T`, or of uint8 uint32, so that a tile takes fewer registers. A thread has at most 32 elements of a tile.
                 With `BYTES` `M` is uint8, and `TEST` is `is_set`, for which bytes are looked at four at a time.
                 `C`: what is tested is converted to that. `y`: no memory of `x` or `mask`. `skew`, `mask_skew`: how many
                 elements `x` and `mask` begin past one that is aligned to `WIDTH` of them; -1: it is not known. `y_skew`: the
                 same of `y`, to a vector of 16 bytes. `otherwise`, `unset`: any numbers. `words`: `capacity` of them, at least
                 one a tile; `control`: one word. All zero at first, and of no other use at the same time.
    Test:        tests/kernels/test_select.py, tests/gpu/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    VECTOR: constexpr(int) = max(16 // max(T.bytes, TO.bytes), 1)
    HELD: constexpr(int) = ITEMS * T.bytes // H.bytes
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    last: int32 @ grid[1] = int32(n - int64(tiles - 1) * TILE)  # how many elements the last one has
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with partition(y, block[1], races="none") as out, partition(kept, block[1], 0, races="none") as number, group(block[1]):
        tile_held: H[HELD] @ thread[1]  # the held tile
        flags: uint32 @ thread[1] = 0  # which elements of it are kept
        tile_ahead: H[HELD] @ thread[1] = {0}  # the same of the following tile
        signs: uint32 @ thread[1] = 0

        @requires(thread[1])
        def ask_elements():
            """Flags of the loaded tile: what its own elements say."""
            nonlocal signs
            ahead: T[ITEMS]
            release(tile_ahead, ahead)
            signs = flags_of_answers(ahead, mask, C=C, F=uint32, TEST=TEST, GIVEN=GIVEN)

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1]) -> int32 @ thread[1]:
            """Bring a tile into registers, and find out what is kept of it; return how many of the thread's elements are."""
            nonlocal signs
            many: int32 @ block[1] = TILE if tile < tiles - 1 else last
            if EDGES:
                signs = load_runs(
                    x, tile_ahead, tile, many, n, blocks, skew, otherwise, unset, THREADS=THREADS, ITEMS=ITEMS, WIDTH=WIDTH,
                )
            else:
                at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
                if not OWN:  # before elements are loaded: then flags take a register, and what is tested none
                    signs = load_flags(
                        mask, tile, many, n, blocks, mask_skew, unset, TEST=TEST, BYTES=BYTES, THREADS=THREADS, ITEMS=ITEMS,
                        WIDTH=WIDTH,
                    )
                if not PLACES:
                    with partition(x, block[1], offset=int64(tile) * TILE) as source:
                        load_held(source, tile_ahead, many, otherwise, skew, ITEMS=ITEMS, WIDTH=WIDTH)
                    block.prefetch_tile(x, tile + blocks, n, TILE=TILE)  # about what this block draws next
                    if OWN:
                        with group(thread[1]):
                            ask_elements()
                signs = signs & bits_within(many - at, ITEMS=ITEMS, WIDTH=WIDTH)
            return int32(popcount(signs))

        @requires(block[1], thread["THREADS"])
        def store(tile: int32 @ block[1], prefix: int64 @ block[1], before: int32 @ thread[32], held: int32 @ block[1]):
            """Write what is kept of the held tile, or where it stands; of the last tile how many are kept in all."""
            block.fill(number, prefix + held, 1 if tile == tiles - 1 else 0)  # first: a host that waits goes on then
            valid: int32 @ block[1] = int32(min(max(room - prefix, 0), int64(held)))
            aligned: int32 @ block[1] = -1 if y_skew < 0 else int32((y_skew + prefix) % VECTOR)
            items: T[ITEMS] @ thread[1]
            if PLACES:
                at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
                for k in range(ITEMS):
                    items[k] = T(at + (k // WIDTH * 32 * WIDTH + k % WIDTH))
            else:
                with group(thread[1]):
                    release(tile_held, items)

            @requires(thread[1])
            def result(item: T @ thread[1]) -> TO @ thread[1]:
                """What is written of an element: its position of all, or itself."""
                return TO(int64(tile) * TILE + int64(item)) if PLACES else item

            with partition(out, block[1], prefix, races="none") as target:
                block.store_flagged(
                    target, items, flags, before, valid, aligned, TO=TO, AS=result, WIDTH=WIDTH, THREADS=THREADS, VECTOR=VECTOR,
                )

        @requires(block[1], thread["THREADS"])
        def keep():
            """The loaded tile is the held one from here on."""
            nonlocal flags
            flags = signs
            if not PLACES:
                for k in range(HELD):
                    tile_held[k] = tile_ahead[k]

        grid.select_tiles(
            words, capacity, control, blocks, tiles, b, LOAD=load, STORE=store, KEEP=keep, THREADS=THREADS, WORDS=WORDS,
            ONCE=ONCE,
        )


@prism.device
@requires(block[1], thread[32])
@template(
    TI=dtype, T=dtype, H=dtype, C=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), HELD=constexpr(int),
)
def load_runs(
    x: ptr(const(TI)) @ grid[1], held: H[HELD] @ thread[1], tile: int32 @ block[1], many: int32 @ block[1], n: int64 @ grid[1],
    near: int32 @ block[1], skew: int32 @ grid[1], otherwise: T @ grid[1], unset: C @ grid[1],
) -> uint32 @ thread[1]:
    """Load a tile of `x` into `held`; return the bits of the elements at which runs of equal ones begin.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `select`; `many`: how many elements the tile has; `near`: so many tiles on one is brought near.
    """
    TILE: constexpr(int) = THREADS * ITEMS
    start: int64 @ block[1] = int64(tile) * TILE
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    edge: C @ thread[1] = unset  # in lane 0: what is before the warp's first one
    with partition(x, block[1], offset=start) as source:
        load_held(source, held, many, otherwise, skew, ITEMS=ITEMS, WIDTH=WIDTH)
    block.prefetch_tile(x, tile + near, n, TILE=TILE)
    lane: int32 @ thread[1] = id() % 32
    with group(thread[1]):
        if lane == 0 and at < many and (tile > 0 or at > 0):
            edge = C(x[start + at - 1])
    signs: uint32 @ thread[1] = 0
    if HELD < ITEMS and WIDTH % 4 == 0:
        signs = edges_of_bytes(held, uint32(edge), 1, WIDTH=WIDTH)
    else:
        items: T[ITEMS] @ thread[1]
        marks: C[ITEMS] @ thread[1]
        with group(thread[1]):
            release(held, items)
        for k in range(ITEMS):
            marks[k] = C(items[k])
        signs = edge_flags(marks, edge, WIDTH=WIDTH)
    signs = signs | (1 if tile == 0 and at == 0 else 0)
    return signs & bits_within(many - at, ITEMS=ITEMS, WIDTH=WIDTH)


@prism.device
@requires(thread[1])
@template(F=dtype(default=uint32), ITEMS=constexpr(int), WIDTH=constexpr(int))
def bits_within(left: int32 @ thread[1]) -> F @ thread[1]:
    """The bits of a thread's elements that are in the tile, as `block.load` lays them out: `left` are from its first one on."""
    if left >= ITEMS * 32:
        return F(0xFFFFFFFFFFFFFFFF) if F == uint64 else F(0xFFFFFFFF)
    flags: F = 0
    for j in range(ITEMS // WIDTH):
        here: int32 = min(max(left - j * 32 * WIDTH, 0), WIDTH)
        row: uint32 = 0xFFFFFFFF if here >= 32 else (uint32(1) << uint32(here)) - 1
        flags = flags | F(row) << (j * WIDTH)
    return flags


@prism.device
@requires(block[1], thread[32])
@template(C=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int))
def edge_flags(marks: C[ITEMS] @ thread[1], edge: C @ thread[1]) -> uint32 @ thread[1]:
    """The bits of the elements that differ from the one before; `edge`: what is before lane 0's first one."""
    lane: int32 @ thread[1] = id() % 32
    flags: uint32 @ thread[1] = 0
    with group(thread[32]):
        for j in range(ITEMS // WIDTH):
            last: C @ thread[1] = marks[j * WIDTH + WIDTH - 1]
            below: C @ thread[1] = shuffle_up(last, 1)
            top: C @ thread[32] = broadcast(last, 31)
            with group(thread[1]):
                before: C = edge if lane == 0 else below
                for k in range(WIDTH):
                    flags = flags | uint32(1 if differs(marks[j * WIDTH + k], before) else 0) << (j * WIDTH + k)
                    before = marks[j * WIDTH + k]
                edge = top
    return flags


EXAMPLES = {
    "select": {
        "T": "float32", "H": "float32", "TI": "float32", "M": "uint8", "C": "uint8", "TO": "float32", "TEST": is_set,
        "OWN": False, "EDGES": False, "PLACES": False, "THREADS": 256, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 2, "WORDS": 2,
    },
}
