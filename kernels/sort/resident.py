"""Sorting an array whose tiles all blocks of a GPU hold at once, in one launch: blocks meet, and nothing looks back.

A pass a digit, as of `prism.kernels.sort.radix`: each block puts its tile in the order of the digit, and says how often each
digit occurs in it. When all have, each adds up what the tiles have, and writes its tile where it belongs.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, load_vector, may_alias, partition, prism, ptr, requires,
    shared, shuffle, template, thread, uint16, uint32, vector,
)
from prism.kernels.sort.cluster import load_row
from prism.kernels.sort.order import INTEGER
from prism.kernels.sort.parts import GIVEN, NONE, POSITIONS, write_digits, write_in_order, write_positions
from prism.kernels.sort.ranking import count_tile, rank_tile
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(THREADS=constexpr(int), PASSES=constexpr(int), AHEAD=constexpr(int))
def add_tiles(
    numbers: ptr(uint32) @ grid[1], step: int32 @ block[1], tile: int32 @ block[1], tiles: int32 @ grid[1],
    found: uint32[2] @ thread[1],
):
    """Say how often digit `t` of pass `step` occurs in all tiles, and how often in those before `tile`.

    A warp reads a row at once, the numbers of a tile, 16 bytes a lane: two numbers a word; `AHEAD` rows are under way.
    """
    WARPS: constexpr(int) = THREADS // 32
    room: shared(uint32[THREADS * 16])
    t: int32 @ thread[1] = id()
    with partition(room, thread[1], offset=t * 16, races="none") as own, group(thread[1]):
        sums: uint32[8]
        before: uint32[8]
        for j in range(8):
            sums[j] = 0
            before[j] = 0
        for v in range(t // 32, tiles, WARPS, unroll=AHEAD):
            row: vector(uint32, 4) = load_vector(numbers[(v * PASSES + step) * 128 + t % 32 * 4], 4)
            for j in range(8):
                number: uint32 = row[j // 2] >> 16 * (j % 2) & 0xFFFF
                sums[j] = sums[j] + number
                before[j] = before[j] + (number if v < tile else uint32(0))
        for j in range(8):
            own[j] = sums[j]
            own[8 + j] = before[j]
    with group(thread[1]):
        found[0] = 0
        found[1] = 0
        if t < 256:
            for w in range(WARPS):
                found[0] = found[0] + room[(w * 32 + t // 8) * 16 + t % 8]
                found[1] = found[1] + room[(w * 32 + t // 8) * 16 + 8 + t % 8]


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, ITEMS=constexpr(int), KIND=constexpr(int), THREADS=constexpr(int))
def count_resident(
    keys: K[ITEMS] @ thread[1], numbers: ptr(uint32) @ block[1], held: uint32[2] @ thread[1], kept: uint32[8] @ thread[1],
    shift: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1],
) -> (bool, int32) @ block[1]:
    """Say in `numbers` how often each digit occurs in the block's tile, and in `held` and `kept` where its parts begin there.

    Shared memory is kept over no barrier of the grid, so each thread keeps 8 words of the table.
    Returns: whether ranks must be in the order of the lanes, and a digit that very many have, or -1.
    """
    table: shared(uint32[THREADS * 8])
    common: shared(int32[1])
    t: int32 @ thread[1] = id()
    slowly: bool @ block[1] = count_tile(table, common, keys, held, shift, flip, lowest, KIND=KIND, THREADS=THREADS)
    other: uint32 @ thread[1] = shuffle(held[0], t % 32 ^ 1)
    with partition(numbers, thread[1], offset=lambda place: place, races="none") as words, group(thread[1]):
        if t < 256 and t % 2 == 0:
            words[shift * 16 + t // 2] = held[0] | other << 16
    with group(thread[1]):
        for j in range(8):
            kept[j] = table[t + j * THREADS]
    often: int32 @ block[1] = common[0]
    return slowly, often


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int),
    THREADS=constexpr(int), BATCH=constexpr(int),
)
def rank_resident(
    keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1], kept: uint32[8] @ thread[1], sorted: ptr(K) @ block[1],
    beside: ptr(V) @ block[1], ids: ptr(uint16) @ block[1], shift: int32 @ block[1], lowest: K @ block[1],
    often: int32 @ block[1], slowly: bool @ block[1],
):
    """Put the block's tile in the order of the digit, in shared memory; the arguments are what `count_resident` has found."""
    t: int32 @ thread[1] = id()
    table: shared(uint32[THREADS * 8])
    with partition(table, thread[1], offset=lambda j: t + j * THREADS) as own, group(thread[1]):
        for j in range(8):
            own[j] = kept[j]
    rank_tile(
        table, keys, items, sorted, beside, ids, 0, shift, lowest, often, slowly, KIND=KIND, VALUES=VALUES, BATCH=BATCH,
    )


@prism.device
@requires(block[1], thread["THREADS"])
@template(
    K=dtype, V=dtype, VO=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int),
    THREADS=constexpr(int), BATCH=constexpr(int),
)
def move_resident(
    keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1], held: uint32[2] @ thread[1], kept: uint32[8] @ thread[1],
    numbers: ptr(uint32) @ grid[1], y: ptr(K) @ block[1], values: ptr(V) @ block[1], positions: ptr(VO) @ block[1],
    tile: int32 @ block[1], tiles: int32 @ grid[1], n: int32 @ block[1], shift: int32 @ block[1], flip: K @ block[1],
    lowest: K @ block[1], often: int32 @ block[1], slowly: bool @ block[1], last: bool @ block[1],
):
    """Write the block's tile where its digits belong. `last`: results are written."""
    TILE: constexpr(int) = THREADS * ITEMS
    MANY: constexpr(int) = TILE if VALUES != NONE else 1
    AHEAD: constexpr(int) = 4 if THREADS <= 256 or ITEMS <= 8 else 2  # of many elements a thread, registers are few
    t: int32 @ thread[1] = id()
    targets: shared(uint32[256])
    sorted: shared(K[TILE])
    beside: shared(V[MANY])
    ids: shared(uint16[TILE if VALUES == GIVEN else 1])
    found: uint32[2] @ thread[1]
    add_tiles(numbers, shift // 8, tile, tiles, found, THREADS=THREADS, PASSES=K.bytes, AHEAD=AHEAD)
    starts: uint32[1] @ thread[1]
    starts[0] = found[0]
    block.scan(starts, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
    with partition(targets, thread[1], offset=t) as own, group(thread[1]):
        if t < 256:
            own[0] = starts[0] + found[1] - held[1]
    rank_resident(
        keys, items, kept, sorted, beside, ids, shift, lowest, often, slowly, KIND=KIND, VALUES=VALUES, THREADS=THREADS,
        BATCH=BATCH,
    )
    many: int32 @ block[1] = min(n - tile * TILE, TILE)

    @requires(block[1], thread["THREADS"])
    def write(
        tile: ptr(const(K)) @ block[1], values_of: ptr(const(V)) @ block[1], ids_of: ptr(const(uint16)) @ block[1],
    ) -> bool @ block[1]:
        wrong: bool @ block[1] = False
        if VALUES == POSITIONS and last:
            wrong = write_positions(
                tile, values_of, ids_of, targets, positions, many, shift, lowest, KIND=KIND, THREADS=THREADS, ITEMS=ITEMS,
                BATCH=BATCH,
            )
        else:
            wrong = write_digits(
                tile, values_of, ids_of, targets, y, values, many, shift, flip, lowest, last, KIND=KIND, VALUES=VALUES,
                THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
            )
        return wrong

    write_in_order(
        sorted, beside, ids, many, shift, lowest, slowly, KIND=KIND, VALUES=VALUES, WHOLE=TILE, THREADS=THREADS, WRITE=write,
    )


@prism.kernel
@template(
    K=dtype, V=dtype, VO=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int), ASKED=constexpr(bool, default=False),
)
@requires(grid[1], block[1], thread["THREADS"], cooperative=True)
@attr("__launch_bounds__(THREADS, 1)")
@may_alias("x", "y")
@may_alias("given", "values")
def sort_resident(
    x: ptr(const(K)) @ grid[1], spare: ptr(K) @ grid[1], y: ptr(K) @ grid[1], given: ptr(const(V)) @ grid[1],
    value_spare: ptr(V) @ grid[1], values: ptr(V) @ grid[1], positions: ptr(VO) @ grid[1], numbers: ptr(uint32) @ grid[1],
    n: int32 @ grid[1], tiles: int32 @ grid[1], last: int32 @ grid[1], flip: K @ grid[1], lowest: K @ grid[1],
    asked: ptr(const(uint32)) @ grid[1],
):
    """Sort `n` elements, a tile a block.

    Perspective: grid, of as many blocks of `THREADS` threads, at least 256, as there are tiles of `THREADS * ITEMS` elements.
    Shapes:      `x`: bits of numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`. `spare`, `y`: `n`
                 keys each, that the passes write in turn, and `value_spare`, `values` as many values beside them. `VALUES`:
                 NONE; GIVEN, `values` become the elements of `given`, each where its number goes; POSITIONS, `positions` become
                 where the numbers stood, and `y` and `values` are left in disorder. `numbers`: 128 words a byte of a key, a tile,
                 aligned to 16 bytes, of any content. `last`: the bit that the last two digits begin with, of keys of one byte
                 0: were it a constant, the compiler would keep digits that it computes again else. `y` may be `x`, and `values`
                 may be `given`. `ASKED`: nothing is done where `asked[0]` is 0; else `asked` is not read.
    Cost:        a byte of a key: a read and a write of an element, two barriers of the grid, each block's read of `numbers`.
    Test:        tests/kernels/test_sort_resident.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % THREADS
    place: int32 @ thread[1] = b * TILE + t // 32 * (32 * ITEMS) + t % 32  # of the thread's first element; others are 32 apart
    keys: K[ITEMS] @ thread[1]
    items: V[ITEMS if VALUES != NONE else 1] @ thread[1]
    held: uint32[2] @ thread[1]
    kept: uint32[8] @ thread[1]
    slowly: bool @ block[1] = False
    often: int32 @ block[1] = -1

    @requires(grid[1], block[1], thread["THREADS"])
    def count_own(shift: int32 @ grid[1]):
        """Count the digits of the block's tile, for all blocks."""
        nonlocal slowly, often
        with partition(numbers, block[1], offset=b * (128 * K.bytes)) as own, group(block[1]):
            slowly, often = count_resident(keys, own, held, kept, shift, flip, lowest, KIND=KIND, THREADS=THREADS)

    @requires(grid[1], block[1], thread["THREADS"])
    def move(key_result: ptr(K) @ grid[1], value_result: ptr(V) @ grid[1], shift: int32 @ grid[1], ends: bool @ grid[1]):
        """Write the block's tile where its digits belong; the pass that `ends` all writes results."""
        with (
            partition(key_result, block[1], offset=lambda place: place, races="none") as result,
            partition(value_result, block[1], offset=lambda place: place, races="none") as beside,
            partition(positions, block[1], offset=lambda place: place, races="none") as position_result,
            group(block[1]),
        ):
            move_resident(
                keys, items, held, kept, numbers, result, beside, position_result, b, tiles, n, shift, flip, lowest, often,
                slowly, ends, KIND=KIND, VALUES=VALUES, THREADS=THREADS, BATCH=BATCH,
            )

    @requires(grid[1], block[1], thread["THREADS"])
    def take_up(moved: ptr(const(K)) @ grid[1], beside: ptr(const(V)) @ grid[1]):
        """Take up what has been written to the block's tile."""
        with group(thread[1]):
            for k in range(ITEMS):
                there: bool = 32 * k < n - place
                keys[k] = moved[place + 32 * k] if there else ~K(0)  # behind all others
                if VALUES != NONE:
                    items[k] = beside[place + 32 * k] if there else ~V(0)  # here too

    @requires(grid[1], block[1], thread["THREADS"])
    def sort_all():
        """Load all, and make a pass for each byte of a key."""
        with group(block[1]):
            load_row(x, given, keys, items, place, n, flip, lowest, KIND=KIND, VALUES=VALUES)
        count_own(0)
        for shift in range(0, 8 * K.bytes, 16):
            if K.bytes > 1:
                move(spare, value_spare, shift, False)
                take_up(spare, value_spare)
                count_own(shift + 8)
            move(y, values, shift + 8 if K.bytes > 1 else 0, shift == last)
            if shift == last:
                break
            take_up(y, values)
            count_own(shift + 16)

    if ASKED:
        if asked[0] != 0:
            sort_all()
    else:
        sort_all()


EXAMPLES = {
    "sort_resident": {
        "K": "uint32", "V": "uint32", "VO": "int64", "KIND": INTEGER, "VALUES": NONE, "THREADS": 512, "ITEMS": 16, "BATCH": 4,
    },
}
