"""The scan of segments in one pass: like `single_pass`, but it begins anew where a segment does.

A tile's total counts from its last head on, a head being the first element of a segment, and only what is before a tile's first
head gets the tile's prefix. Where heads come at regular distances, as those of the rows of a matrix, it is known beforehand how
far a tile must look back: to the head of the segment that reaches into it. Else each tile publishes how many heads it has.
"""

from prism.lang import (
    assume, attr, block, const, constexpr, count, distinct, dtype, function, grid, group, int32, int64, mailbox, may_alias,
    partition, prism, ptr, requires, template, thread, uint32, uint64,
)
from prism.kernels.scan.head_flags import KEYS, ROWS, key_flags, periodic_flags, unpack_flags
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, K=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool), HEADS=constexpr(int),
    KEYED=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
@may_alias("x", "y")
def scan_segments(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], heads: ptr(const(K)) @ grid[1], n: int64 @ grid[1],
    period: int64 @ grid[1], aligned: bool @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
    words: ptr(mailbox(T)) @ grid[1], marks: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1],
    control: ptr(uint64) @ grid[1],
):
    """`y[i] = OP(initial, x[h], ..., x[i])`, where h is the last head up to i; without `x[i]` itself where `EXCLUSIVE`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`, `y`: `n` elements; they may be the same memory. Heads are, by `HEADS`: `ROWS`, the multiples of `period`,
                 and `heads` is not used; `BITS`, bits that are set in the `ceil(n / 32)` words (uint32) of `heads`; `KEYS`, where
                 `heads[i] != heads[i - 1]`. Element 0 need not be a head. `words`, `marks`: `capacity` of them, at least one a
                 tile of `THREADS * ITEMS` elements; `control`: one word. All zero at first, and of no other use at the same
                 time; `marks` is not used with `ROWS`.
    Numerics:    computes in `T`; reassociates `OP`, differently from run to run; `OP` need not be commutative. With `REVERSE`,
                 for `ROWS` alone, `y[i]` is `OP(initial, x[e - 1], ..., x[i])`, where e is the next head after i, or `n`.
    Errors:      if `aligned`, `x` and `y` must be, to `WIDTH` elements, at most 16 bytes in all; keys to `KEYED`, a divisor of
                 `WIDTH`.
    Source:      Sengupta, Harris, Zhang and Owens, "Scan primitives for GPU computing"; the structure is `single_pass`'s.
    Test:        tests/kernels/test_segmented_scan.py, tests/gpu/test_segmented_scan.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    skew: int32 @ grid[1] = 0 if aligned else -1
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    shift: int64 @ grid[1] = int64(tiles) * TILE - n if REVERSE else 0  # places of the first tile before its first element
    with partition(y, block[1], races="allow") as whole:  # `x` may be the same memory: each tile is one block's
        with group(block[1]):
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            prefix: T @ block[1] = initial
            done: int32 @ block[1] = 0  # how many tiles' totals are in the prefix
            between: T @ block[1] = identity  # what the tiles since then come to, and their heads
            number: int32[1] @ block[1] = {0}
            items: T[ITEMS] @ thread[1]  # of the tile that the block holds
            open: int32 @ thread[1] = 0  # where in it its first head is
            behind: int64 @ block[1] = 0  # how far behind the head of its segment it begins
            ahead: T[ITEMS] @ thread[1]  # of the following one
            soon_open: int32 @ thread[1] = 0
            soon_behind: int64 @ block[1] = 0

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                nonlocal soon_open, soon_behind
                here: int32 @ block[1] = tiles - 1 - tile if REVERSE else tile  # where it lies
                with partition(x, block[1], offset=int64(here) * TILE) as source:
                    block.load_tile(
                        source, ahead, extent(here, n, TILE=TILE), identity, skew, 0, WIDTH=WIDTH, REVERSE=REVERSE, SPARE=False,
                    )
                soon: int32 @ block[1] = max(here - blocks, 0) if REVERSE else here + blocks  # about what this block draws next
                block.prefetch_tile(x, soon, n, TILE=TILE)
                if HEADS == KEYS:
                    block.prefetch_tile(heads, soon, n, TILE=TILE)
                flags: uint32 @ thread[1] = 0
                if HEADS == ROWS:
                    slot: int64 @ block[1] = int64(tile) * TILE - shift
                    soon_behind = int64(int32(slot) % int32(period)) if n < 1 << 31 else slot % period  # the former is quick
                    if soon_behind < 0:
                        soon_behind = soon_behind + period
                    until: int64 @ block[1] = period - soon_behind if soon_behind > 0 else 0
                    if until < TILE:
                        rows: int32 @ block[1] = int32(min(period, 2 * TILE))  # of further heads, none is in the tile
                        flags = periodic_flags(int32(until), rows, ITEMS=ITEMS, WIDTH=WIDTH)
                elif HEADS == KEYS:
                    flags = key_flags(
                        heads, int64(here) * TILE, extent(here, n, TILE=TILE), TILE, ITEMS=ITEMS, WIDTH=WIDTH, KEYED=KEYED,
                    )
                else:
                    flags = unpack_flags(heads, int64(here) * TILE, extent(here, n, TILE=TILE), ITEMS=ITEMS, WIDTH=WIDTH)
                facts: int32[3] @ thread[1]
                total: T @ block[1] = block.scan_heads(
                    ahead, flags, facts, identity, initial, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE, RUNS=False,
                )
                soon_open = facts[0]
                grid.publish(words, tile, total, epoch)
                if HEADS != ROWS:
                    grid.publish(marks, tile, uint32(facts[1]), epoch)

            @requires(block[1], thread["THREADS"])
            def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                nonlocal prefix, between
                if HEADS == ROWS:
                    since: int32 @ block[1] = done
                    if tile >= 0 and behind <= int64(tile - done) * TILE:  # no tile since then has a head
                        since = tile - int32((behind + (TILE - 1)) // TILE)
                        prefix = identity
                    between = grid.look_back(words, since, tile, identity, epoch, OP=OP, THREADS=THREADS, WORDS=WORDS)
                else:
                    between = grid.look_back_segments(
                        words, marks, done, tile, identity, epoch, number, OP=OP, THREADS=THREADS, WORDS=WORDS,
                    )

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1]):
                nonlocal prefix, done
                prefix = between if number[0] != 0 else OP(prefix, between)
                with group(thread[1]):
                    thread.continue_segment(items, prefix, at, open, WIDTH=WIDTH, OP=OP, RUNS=False)
                there: int32 @ block[1] = tiles - 1 - tile if REVERSE else tile
                assume(distinct(there))  # a number is drawn once
                with partition(whole, block[1], offset=int64(there) * TILE) as target:
                    block.store_tile(
                        target, items, extent(there, n, TILE=TILE), aligned, 0, WIDTH=WIDTH, REVERSE=REVERSE, KEPT=True,
                    )
                done = tile

            @requires(block[1], thread["THREADS"])
            def keep():
                nonlocal open, behind
                with group(thread[1]):
                    for k in range(ITEMS):
                        items[k] = ahead[k]
                open = soon_open
                behind = soon_behind

            last: grid.Ticket @ block[1] = grid.tile_loop(
                control, tiles, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS,
            )
            if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
                grid.count_launch(control, words, capacity, tiles, last.epoch, identity)
                if HEADS != ROWS:
                    grid.count_launch(control, marks, capacity, tiles, last.epoch, 0)


EXAMPLES = {
    "scan_segments": {
        "TI": "float32", "T": "float32", "TO": "float32", "K": "uint32", "OP": operators.add, "THREADS": 256, "ITEMS": 20,
        "WIDTH": 4, "BLOCKS": 2, "WORDS": 2, "EXCLUSIVE": False, "REVERSE": False, "HEADS": ROWS,
        "KEYED": 1,
    },
}
