"""The first of each run of equal keys, and of the values that belong to them: one pass, in which both are read once.

As `select` has it, and a tile holds keys and values. Both pass through shared memory at once, each to where its vectors are those
of its result.
"""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, mailbox, partition, popcount, prism, ptr,
    requires, shared, template, thread, uint32, uint64,
)
from prism.kernels.select.compaction import load_runs
from prism.kernels.select.packed import load_held, release
from prism.kernels.select.parts import skew_at, store_part
from prism.lib.block.compact import rank_rows
from prism.lib.thread import extent


@prism.kernel
@template(
    T=dtype, H=dtype, TI=dtype, C=dtype, V=dtype, HV=dtype, VI=dtype, THREADS=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int), ONCE=constexpr(bool, default=False),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def unique_pairs(
    keys: ptr(const(TI)) @ grid[1], x: ptr(const(VI)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(V) @ grid[1],
    kept: ptr(int64) @ grid[1], n: int64 @ grid[1], room: int64 @ grid[1], skew: int32 @ grid[1], x_skew: int32 @ grid[1],
    out_skew: int32 @ grid[1], otherwise: T @ grid[1], x_otherwise: V @ grid[1], unset: C @ grid[1],
    words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """`y` becomes the key of each run of equal `keys`, `z` the element of `x` at its first one; at most `room` of them.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `keys`, `x`: `n` elements, at least one. `kept[0]`: how many runs there are in all. `y`, `z`: no memory of each
                 other or of what is read; they begin `out_skew` elements past a vector of 16 bytes; -1: it is not known.
                 `HV`, `x_skew`, `x_otherwise`: as `H`, `skew` and `otherwise`, of `x`. The rest as of `select`.
    Test:        tests/kernels/test_pairs.py, tests/gpu/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    VECTOR: constexpr(int) = max(16 // T.bytes, 1)
    WIDE: constexpr(int) = max(16 // V.bytes, 1)
    HELD: constexpr(int) = ITEMS * T.bytes // H.bytes
    VALUES: constexpr(int) = ITEMS * V.bytes // HV.bytes
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    with partition(y, block[1], races="none") as all_keys, partition(kept, block[1], 0, races="none") as number:
        with partition(z, block[1], races="none") as all_values, group(block[1]):
            tile_held: H[HELD] @ thread[1]  # the held tile
            values_held: HV[VALUES] @ thread[1]
            flags: uint32 @ thread[1] = 0  # where runs begin in it
            tile_ahead: H[HELD] @ thread[1] = {0}  # the same of the following tile
            values_ahead: HV[VALUES] @ thread[1] = {0}
            signs: uint32 @ thread[1] = 0

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1]) -> int32 @ thread[1]:
                """Bring a tile of keys and values into registers; return how many runs begin at the thread's keys."""
                nonlocal signs
                many: int32 @ block[1] = extent(tile, n, TILE=TILE)
                with partition(x, block[1], offset=int64(tile) * TILE) as source:  # first: they come while keys are compared
                    load_held(source, values_ahead, many, x_otherwise, x_skew, ITEMS=ITEMS, WIDTH=WIDTH)
                signs = load_runs(
                    keys, tile_ahead, tile, many, n, blocks, skew, otherwise, unset, THREADS=THREADS, ITEMS=ITEMS, WIDTH=WIDTH,
                )
                block.prefetch_tile(x, tile + blocks, n, TILE=TILE)
                return int32(popcount(signs))

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1], prefix: int64 @ block[1], before: int32 @ thread[32], held: int32 @ block[1]):
                """Write keys and values of the held tile at which runs begin; of the last tile how many runs there are in all."""
                block.fill(number, prefix + held, 1 if tile == tiles - 1 else 0)  # first: a host that waits goes on then
                valid: int32 @ block[1] = int32(min(max(room - prefix, 0), int64(held)))
                key_skew: int32 @ block[1] = skew_at(out_skew, prefix, VECTOR=VECTOR)
                value_skew: int32 @ block[1] = skew_at(out_skew, prefix, VECTOR=WIDE)
                items: T[ITEMS] @ thread[1]
                values: V[ITEMS] @ thread[1]
                with group(thread[1]):
                    release(tile_held, items)
                    release(values_held, values)
                with partition(all_keys, block[1], prefix, races="none") as first:
                    with partition(all_values, block[1], prefix, races="none") as second:
                        store_pairs(
                            first, second, items, values, flags, before, valid, key_skew, value_skew, WIDTH=WIDTH,
                            THREADS=THREADS, VECTOR=VECTOR, WIDE=WIDE,
                        )

            @requires(block[1], thread["THREADS"])
            def keep():
                """The loaded tile is the held one from here on."""
                nonlocal flags
                flags = signs
                for k in range(HELD):
                    tile_held[k] = tile_ahead[k]
                for k in range(VALUES):
                    values_held[k] = values_ahead[k]

            grid.select_tiles(
                words, capacity, control, blocks, tiles, b, LOAD=load, STORE=store, KEEP=keep, THREADS=THREADS, WORDS=WORDS,
                ONCE=ONCE,
            )


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, V=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int), VECTOR=constexpr(int),
    WIDE=constexpr(int),
)
def store_pairs(
    y: ptr(T) @ block[1], z: ptr(V) @ block[1], items: T[ITEMS] @ thread[1], values: V[ITEMS] @ thread[1],
    flags: uint32 @ thread[1], before: int32 @ thread[32], valid: int32 @ block[1], skew: int32 @ block[1],
    value_skew: int32 @ block[1],
):
    """Write what has a bit of `flags`, of `items` from `y[0]` on, of `values` from `z[0]` on: `valid` of each.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `block.store_flagged`; `VECTOR`, `WIDE`: elements of `T` and of `V` in a vector.
    """
    ROWS: constexpr(int) = ITEMS // WIDTH
    lead: int32 @ block[1] = max(skew, 0)  # what is written begins here in the tile, so that its vectors are those of `y`
    value_lead: int32 @ block[1] = max(value_skew, 0)
    ranks: int32[ROWS] @ thread[1]
    with group(thread[32]):
        rank_rows(flags, before, ranks, WIDTH=WIDTH)
    tile: shared(T[THREADS * ITEMS + VECTOR], align=16) @ block[1]
    others: shared(V[THREADS * ITEMS + WIDE], align=16) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot:
        with partition(others, thread[1], offset=lambda rank: rank) as at, group(thread[1]):
            for j in range(ROWS):
                rank: int32 = ranks[j]
                for k in range(WIDTH):
                    if flags >> (j * WIDTH + k) & 1 != 0:
                        spot[lead + rank] = items[j * WIDTH + k]
                        at[value_lead + rank] = values[j * WIDTH + k]
                        rank = rank + 1
    store_part(y, tile, lead, valid, skew < 0, THREADS=THREADS, VECTOR=VECTOR)
    store_part(z, others, value_lead, valid, value_skew < 0, THREADS=THREADS, VECTOR=WIDE)


EXAMPLES = {
    "unique_pairs": {
        "T": "float32", "H": "float32", "TI": "float32", "C": "float32", "V": "float32", "HV": "float32", "VI": "float32",
        "THREADS": 256, "ITEMS": 16, "WIDTH": 4, "BLOCKS": 2, "WORDS": 2,
    },
}
