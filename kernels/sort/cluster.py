"""Sorting rows that a cluster of blocks holds in its shared memory, in one launch: read once, and written once.

A pass a digit, as of `prism.kernels.sort.radix`: each block puts its tile in the order of the digit, and writes it where it
belongs, into the tiles of all blocks. What the others have of each digit it reads from their shared memory.
"""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread, uint16, uint32,
)
from prism.kernels.sort.order import INTEGER, decode, digit, encode
from prism.kernels.sort.parts import GIVEN, NONE, POSITIONS, load_ordered, write_in_order
from prism.kernels.sort.ranking import count_tile, rank_tile
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[1])
@template(
    K=dtype, V=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int),
)
def load_row(
    x: ptr(const(K)) @ block[1], given: ptr(const(V)) @ block[1], keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1],
    place: int32 @ thread[1], n: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1],
):
    """Load a thread's elements of a row, every 32nd from `place` on, and what goes along; those behind `n` have the last key."""
    with partition(x, thread[1], place) as mine, partition(given, thread[1], place) as own, group(thread[1]):
        for k in range(ITEMS):
            keys[k] = encode(mine[32 * k], flip, lowest, KIND=KIND) if 32 * k < n - place else ~K(0)  # behind all others
            if VALUES == POSITIONS:
                items[k] = V(place + 32 * k)
            elif VALUES == GIVEN:
                items[k] = own[32 * k] if 32 * k < n - place else 0


@prism.device
@requires(block[1], thread[1])
@template(
    K=dtype, V=dtype, VO=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int),
)
def store_row(
    keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1], y: ptr(K) @ block[1], values: ptr(V) @ block[1],
    positions: ptr(VO) @ block[1], place: int32 @ thread[1], n: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1],
):
    """Write what `load_row` has loaded, where it has come to."""
    with (
        partition(y, thread[1], place, races="none") as result,
        partition(values, thread[1], place, races="none") as value_result,
        partition(positions, thread[1], place, races="none") as position_result,
        group(thread[1]),
    ):
        for k in range(ITEMS):
            if 32 * k < n - place:
                if VALUES == POSITIONS:
                    position_result[32 * k] = VO(items[k])
                else:
                    result[32 * k] = decode(keys[k], flip, lowest, KIND=KIND)
                if VALUES == GIVEN:
                    value_result[32 * k] = items[k]


@prism.device
@template(
    K=dtype, V=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int),
    BLOCKS=constexpr(int), THREADS=constexpr(int), BATCH=constexpr(int), FIRST=constexpr(int, default=0),
)
@requires(block["BLOCKS"], thread["THREADS"])
def sort_held(keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1], flip: K @ block[BLOCKS], lowest: K @ block[BLOCKS]):
    """Sort what the threads of a cluster hold, as `load_row` has loaded it: each has its place in it afterwards."""
    TILE: constexpr(int) = THREADS * ITEMS
    WARPS: constexpr(int) = THREADS // 32
    MANY: constexpr(int) = TILE if VALUES != NONE else 1
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % THREADS
    at: int32 @ thread[1] = t // 32 * (32 * ITEMS) + t % 32  # where the thread's elements begin in its block's tile
    tiles: shared(K[BLOCKS, TILE])
    beside: shared(V[BLOCKS, MANY])
    numbers: shared(uint32[BLOCKS, 256])  # how often each digit occurs in each tile

    @requires(block["BLOCKS"], thread["THREADS"])
    def count_own(shift: int32 @ block[BLOCKS]):
        """Count how often each digit occurs in each tile."""
        with partition(numbers, block[1], lambda d: (b, d)) as own, group(block[1]):
            bins: shared(uint32[256])
            block.fill(bins, 0, 256)
            with group(thread[1]):
                for k in range(ITEMS):
                    atomic_add(bins[digit(keys[k], shift, lowest, KIND=KIND)], 1, scope="block")
            with partition(own, thread[1], offset=t) as mine, group(thread[1]):
                if t < 256:
                    mine[0] = bins[t]

    @requires(block[1], thread["THREADS"])
    def find_starts(starts: uint32[1] @ thread[1]) -> uint32 @ thread[1]:
        """Find where digit `t` begins in the row; return how often it occurs in the tiles before."""
        before: uint32 @ thread[1] = 0
        starts[0] = 0
        with group(thread[1]):
            if t < 256:
                for v in range(BLOCKS):
                    number: uint32 = numbers[v, t]
                    before = before + (number if v < b else 0)
                    starts[0] = starts[0] + number
        block.scan(starts, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
        return before

    @requires(block["BLOCKS"], thread["THREADS"])
    def move(shift: int32 @ block[BLOCKS]):
        """Put each tile in the order of a digit, and write it where its digits belong, into all tiles."""
        with (
            partition(tiles, block[1], lambda place: (place // TILE, place % TILE), races="none") as all,
            partition(beside, block[1], lambda place: (place // TILE, place % TILE), races="none") as all_values,
            group(block[1]),
        ):
            starts: uint32[1] @ thread[1]
            before: uint32 @ thread[1] = find_starts(starts)
            table: shared(uint32[WARPS * 256])
            common: shared(int32[1])
            sorted: shared(K[TILE])
            sorted_values: shared(V[MANY])
            ids: shared(uint16[TILE if VALUES == GIVEN else 1])
            targets: shared(uint32[256])
            held: uint32[2] @ thread[1]
            slowly: bool @ block[1] = count_tile(
                table, common, keys, held, shift, flip, lowest, KIND=KIND, THREADS=THREADS,
            )
            with partition(targets, thread[1], offset=t) as own_target, group(thread[1]):
                if t < 256:
                    own_target[0] = starts[0] + before - held[1]
            often: int32 @ block[1] = common[0]
            rank_tile(
                table, keys, items, sorted, sorted_values, ids, 0, shift, lowest, often, slowly, KIND=KIND, VALUES=VALUES,
                BATCH=BATCH,
            )

            @requires(block[1], thread["THREADS"])
            def write(
                tile: ptr(const(K)) @ block[1], values_of: ptr(const(V)) @ block[1], ids_of: ptr(const(uint16)) @ block[1],
            ) -> bool @ block[1]:
                """Write the block's tile where its digits belong; say whether two elements stand in the wrong order."""
                wrong: bool @ thread[1] = False
                with (
                    partition(all, thread[1], lambda place: place, races="none") as target,
                    partition(all_values, thread[1], lambda place: place, races="none") as value_target,
                    group(thread[1]),
                ):
                    for begin in range(0, ITEMS, BATCH):
                        some: K[BATCH]
                        some_values: V[BATCH]
                        here: int32 = begin * THREADS + t
                        found: bool = load_ordered(
                            tile, values_of, ids_of, some, some_values, here, shift, lowest, KIND=KIND, VALUES=VALUES,
                            THREADS=THREADS,
                        )
                        wrong = found or wrong
                        for k in range(BATCH):
                            spot: int32 = int32(targets[digit(some[k], shift, lowest, KIND=KIND)]) + here + k * THREADS
                            target[spot] = some[k]
                            if VALUES != NONE:
                                value_target[spot] = some_values[k]
                return block.any(wrong)

            write_in_order(
                sorted, sorted_values, ids, TILE, shift, lowest, slowly, KIND=KIND, VALUES=VALUES, WHOLE=TILE, THREADS=THREADS,
                WRITE=write,
            )

    @requires(block["BLOCKS"], thread["THREADS"])
    def take_up():
        """Take up what has been written to the block's tile."""
        with group(thread[1]):
            for k in range(ITEMS):
                keys[k] = tiles[b, at + 32 * k]
                if VALUES != NONE:
                    items[k] = beside[b, at + 32 * k]

    for step in range(FIRST, K.bytes):
        shift: int32 @ block[BLOCKS] = 8 * step
        count_own(shift)
        move(shift)
        take_up()


@prism.kernel
@template(
    K=dtype, V=dtype, VO=dtype, KIND=constexpr(int), VALUES=constexpr(int), BLOCKS=constexpr(int), THREADS=constexpr(int),
    ITEMS=constexpr(int), BATCH=constexpr(int),
)
@requires(grid[1], block["BLOCKS"], thread["THREADS"])
@attr("__launch_bounds__(THREADS, 1)")
def sort_cluster(
    x: ptr(const(K)) @ grid[1], y: ptr(K) @ grid[1], given: ptr(const(V)) @ grid[1], values: ptr(V) @ grid[1],
    positions: ptr(VO) @ grid[1], n: int32 @ grid[1], flip: K @ grid[1], lowest: K @ grid[1],
):
    """Sort rows of `n` elements, a cluster each: row `r` begins at `x[r * n]`, and its result at `y[r * n]`.

    Perspective: grid, `BLOCKS` blocks of `THREADS` threads, at least 256, for each row.
    Shapes:      `x`: bits of numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`; at most
                 `BLOCKS * THREADS * ITEMS` a row. `VALUES`: NONE; GIVEN, `values` become the elements of `given`, each where its
                 number goes; POSITIONS, `positions` become where the numbers stood in their rows, and `y` is not written.
    Cost:        a read and a write of an element; for each byte of a key two barriers of the cluster.
    Test:        tests/kernels/test_sort_cluster.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    r: int64 @ block[BLOCKS] = id()
    first: int64 @ block[BLOCKS] = r * n
    with (
        partition(x, block[BLOCKS], offset=first) as source,
        partition(given, block[BLOCKS], offset=first if VALUES == GIVEN else 0) as value_source,
        partition(y, block[BLOCKS], offset=first, races="none") as row,
        partition(values, block[BLOCKS], offset=first, races="none") as value_row,
        partition(positions, block[BLOCKS], offset=first, races="none") as position_row,
        group(block[BLOCKS]),
    ):
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = id() % THREADS
        at: int32 @ thread[1] = t // 32 * (32 * ITEMS) + t % 32  # where the thread's elements begin in its block's tile
        keys: K[ITEMS] @ thread[1]
        items: V[ITEMS if VALUES != NONE else 1] @ thread[1]
        place: int32 @ thread[1] = b * TILE + at
        with group(block[1]):
            load_row(source, value_source, keys, items, place, n, flip, lowest, KIND=KIND, VALUES=VALUES)
        sort_held(keys, items, flip, lowest, KIND=KIND, VALUES=VALUES, BLOCKS=BLOCKS, THREADS=THREADS, BATCH=BATCH)
        with (
            partition(row, block[1], races="none") as result,
            partition(value_row, block[1], races="none") as value_result,
            partition(position_row, block[1], races="none") as position_result,
            group(block[1]),
        ):
            store_row(keys, items, result, value_result, position_result, place, n, flip, lowest, KIND=KIND, VALUES=VALUES)


EXAMPLES = {
    "sort_cluster": {
        "K": "uint32", "V": "uint32", "VO": "int64", "KIND": INTEGER, "VALUES": NONE, "BLOCKS": 8, "THREADS": 512, "ITEMS": 16,
        "BATCH": 8,
    },
}
