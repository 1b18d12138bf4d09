"""Sorting an array whose tiles all blocks of a GPU hold at once, in one launch: blocks meet, and nothing looks back.

A pass a digit, as of `prism.kernels.sort.radix`: each block puts its tile in the order of the digit, and says how often each
digit occurs in it. When all have, each adds up what the tiles have, and writes its tile where it belongs. All tiles have been
read by then: so every pass writes to the same memory.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, load_vector, may_alias, partition, prism, ptr, requires, shared,
    template, thread, uint16, uint32, vector,
)
from prism.kernels.sort.cluster import load_row
from prism.kernels.sort.order import INTEGER
from prism.kernels.sort.parts import GIVEN, NONE, POSITIONS, mend, write_digits, write_positions
from prism.kernels.sort.ranking import count_tile, rank_batch
from prism.lib.thread import operators


@prism("device")
@requires(block[1], thread[32])
@template(THREADS=constexpr(int))
def add_tiles(
    numbers: ptr(uint16) @ grid[1], tile: int32 @ block[1], tiles: int32 @ grid[1], found: uint32[2] @ thread[1],
):
    """Say how often digit `t` occurs in all tiles, and how often in those before `tile`.

    A warp reads a row at once, the numbers of a tile, 16 bytes a lane.
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
        for v in range(t / 32, tiles, WARPS, unroll=3):
            row: vector(uint16, 8) = load_vector(numbers[v * 256 + t % 32 * 8], 8)
            for j in range(8):
                sums[j] = sums[j] + uint32(row[j])
                before[j] = before[j] + (uint32(row[j]) if v < tile else uint32(0))
        for j in range(8):
            own[j] = sums[j]
            own[8 + j] = before[j]
    with group(thread[1]):
        found[0] = 0
        found[1] = 0
        if t < 256:
            for w in range(WARPS):
                found[0] = found[0] + room[(w * 32 + t / 8) * 16 + t % 8]
                found[1] = found[1] + room[(w * 32 + t / 8) * 16 + 8 + t % 8]


@prism("device")
@requires(block[1], thread[32])
@template(K=dtype, ITEMS=constexpr(int), KIND=constexpr(int), THREADS=constexpr(int))
def count_resident(
    keys: K[ITEMS] @ thread[1], numbers: ptr(uint16) @ block[1], held: uint32[2] @ thread[1], kept: uint32[8] @ thread[1],
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
    with partition(numbers, thread[1], offset=t) as mine, group(thread[1]):
        if t < 256:
            mine[0] = uint16(held[0])
    with group(thread[1]):
        for j in range(8):
            kept[j] = table[t + j * THREADS]
    often: int32 @ block[1] = common[0]
    return slowly, often


@prism("device")
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
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    table: shared(uint32[THREADS * 8])
    with partition(table, thread[1], offset=lambda j: t + j * THREADS) as own, group(thread[1]):
        for j in range(8):
            own[j] = kept[j]
    with (
        partition(sorted, thread[1], offset=lambda place: place, races="none") as spot,
        partition(beside, thread[1], offset=lambda place: place, races="none") as value_spot,
        partition(ids, thread[1], offset=lambda place: place, races="none") as id_spot,
    ):
        for begin in range(0, ITEMS, BATCH):
            ranks: uint32[BATCH] @ thread[1]
            rank_batch(table, keys, begin, ranks, shift, lowest, often, slowly, KIND=KIND)
            with group(thread[1]):
                for k in range(BATCH):
                    spot[int32(ranks[k])] = keys[begin + k]
                    if VALUES != NONE:
                        value_spot[int32(ranks[k])] = items[begin + k]
                    if VALUES == GIVEN:
                        id_spot[int32(ranks[k])] = uint16(at + 32 * (begin + k))


@prism("device")
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, VO=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int),
    THREADS=constexpr(int), BATCH=constexpr(int), LAST=constexpr(bool),
)
def move_resident(
    keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1], held: uint32[2] @ thread[1], kept: uint32[8] @ thread[1],
    numbers: ptr(uint16) @ grid[1], y: ptr(K) @ block[1], values: ptr(V) @ block[1], positions: ptr(VO) @ block[1],
    tile: int32 @ block[1], tiles: int32 @ grid[1], n: int32 @ block[1], shift: int32 @ block[1], flip: K @ block[1],
    lowest: K @ block[1], often: int32 @ block[1], slowly: bool @ block[1],
):
    """Write the block's tile where its digits belong. `LAST`: results are written."""
    TILE: constexpr(int) = THREADS * ITEMS
    MANY: constexpr(int) = TILE if VALUES != NONE else 1
    t: int32 @ thread[1] = id()
    targets: shared(uint32[256])
    sorted: shared(K[TILE])
    beside: shared(V[MANY])
    ids: shared(uint16[TILE if VALUES == GIVEN else 1])
    found: uint32[2] @ thread[1]
    add_tiles(numbers, tile, tiles, found, THREADS=THREADS)
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
    wrong: bool @ block[1] = True
    calls: int32 @ block[1] = 0
    while wrong and calls < 64:  # 33 are enough, where nobody else writes here
        if LAST and VALUES == POSITIONS:
            wrong = write_positions(
                sorted, beside, ids, targets, positions, many, shift, lowest, KIND=KIND, THREADS=THREADS, ITEMS=ITEMS,
                BATCH=BATCH,
            )
        else:
            wrong = write_digits(
                sorted, beside, ids, targets, y, values, many, shift, flip, lowest, LAST, KIND=KIND, VALUES=VALUES,
                THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
            )
        wrong = wrong and not slowly
        if wrong:
            mend(sorted, beside, ids, many, shift, lowest, KIND=KIND, VALUES=VALUES)
        calls = calls + 1


@prism("global")
@template(
    K=dtype, V=dtype, VO=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS], cooperative=True)
@attr("__launch_bounds__(THREADS, 1)")
@may_alias("x", "y")
@may_alias("given", "values")
def sort_resident(
    x: ptr(const(K)) @ grid[1], y: ptr(K) @ grid[1], given: ptr(const(V)) @ grid[1], values: ptr(V) @ grid[1],
    positions: ptr(VO) @ grid[1], numbers: ptr(uint16) @ grid[1], n: int32 @ grid[1], tiles: int32 @ grid[1],
    last: int32 @ grid[1], flip: K @ grid[1], lowest: K @ grid[1],
):
    """Sort `n` elements, a tile a block.

    Perspective: grid, of as many blocks of `THREADS` threads, at least 256, as there are tiles of `THREADS * ITEMS` elements.
    Shapes:      `x`: bits of numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`. `VALUES`: NONE;
                 GIVEN, `values` become the elements of `given`, each where its number goes; POSITIONS, `positions` become where
                 the numbers stood, and `y` and `values` are left in disorder. `numbers`: 256 a tile, aligned to 16 bytes, of any
                 content.
                 `last`: the bit that the last digit begins with, `8 * K.bytes - 8`: were it a constant, the compiler would keep
                 digits that it computes again else. `y` may be `x`, and `values` may be `given`.
    Cost:        a byte of a key: a read and a write of an element, two barriers of the grid, each block's read of `numbers`.
    Test:        tests/kernels/test_sort_resident.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % THREADS
    place: int32 @ thread[1] = b * TILE + t / 32 * (32 * ITEMS) + t % 32  # of the thread's first element; others are 32 apart
    keys: K[ITEMS] @ thread[1]
    items: V[ITEMS if VALUES != NONE else 1] @ thread[1]
    held: uint32[2] @ thread[1]
    kept: uint32[8] @ thread[1]
    slowly: bool @ block[1] = False
    often: int32 @ block[1] = -1
    with group(block[1]):
        load_row(x, given, keys, items, place, n, flip, lowest, KIND=KIND, VALUES=VALUES)
    for shift in range(0, last, 8):
        with partition(numbers, block[1], offset=b * 256) as own, group(block[1]):
            slowly, often = count_resident(keys, own, held, kept, shift, flip, lowest, KIND=KIND, THREADS=THREADS)
        with (
            partition(y, block[1], offset=lambda place: place, races="none") as result,
            partition(values, block[1], offset=lambda place: place, races="none") as value_result,
            partition(positions, block[1], offset=lambda place: place, races="none") as position_result,
            group(block[1]),
        ):
            move_resident(
                keys, items, held, kept, numbers, result, value_result, position_result, b, tiles, n, shift, flip, lowest,
                often, slowly, KIND=KIND, VALUES=VALUES, THREADS=THREADS, BATCH=BATCH, LAST=False,
            )
        with group(thread[1]):
            for k in range(ITEMS):
                there: bool = 32 * k < n - place
                keys[k] = y[place + 32 * k] if there else ~K(0)  # behind all others
                if VALUES != NONE:
                    items[k] = values[place + 32 * k] if there else ~V(0)  # here too
    with partition(numbers, block[1], offset=b * 256) as own, group(block[1]):
        slowly, often = count_resident(keys, own, held, kept, last, flip, lowest, KIND=KIND, THREADS=THREADS)
    with (
        partition(y, block[1], offset=lambda place: place, races="none") as result,
        partition(values, block[1], offset=lambda place: place, races="none") as value_result,
        partition(positions, block[1], offset=lambda place: place, races="none") as position_result,
        group(block[1]),
    ):
        move_resident(
            keys, items, held, kept, numbers, result, value_result, position_result, b, tiles, n, last, flip, lowest,
            often, slowly, KIND=KIND, VALUES=VALUES, THREADS=THREADS, BATCH=BATCH, LAST=True,
        )


EXAMPLES = {
    "sort_resident": {
        "K": "uint32", "V": "uint32", "VO": "int64", "KIND": INTEGER, "VALUES": NONE, "THREADS": 512, "ITEMS": 16, "BATCH": 4,
    },
}
