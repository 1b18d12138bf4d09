"""Runs of equal keys in one pass: each run's key, and `OP` of the values beside it.

The structure is that of `segmented`. An element's place in the scan is what is before it in its run; so where a run begins, that
is the aggregate of the run before, and it is written there, at the number of heads before. Element `n`, behind the last one, is
a head too: it writes the last run's aggregate, and how many runs there are.
"""

from prism.lang import (
    assume, attr, ballot, block, const, constexpr, count, distinct, dtype, function, grid, group, id, int32, int64, mailbox,
    partition, popcount, prism, ptr, requires, template, thread, uint32, uint64,
)
from prism.kernels.scan.head_flags import key_flags
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, K=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WORDS=constexpr(int), KEYED=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def reduce_runs(
    keys: ptr(const(K)) @ grid[1], x: ptr(const(TI)) @ grid[1], unique: ptr(K) @ grid[1], y: ptr(TO) @ grid[1],
    runs: ptr(int64) @ grid[1], n: int64 @ grid[1], aligned: bool @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
    words: ptr(mailbox(T)) @ grid[1], marks: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1],
    control: ptr(uint64) @ grid[1],
):
    """`unique[r]` is the key of run r, `y[r]` is `OP(initial, x[b], ..., x[e - 1])` of its elements, `runs[0]` their number.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `keys`, `x`: `n` elements, at least one. `unique`, `y`: room for as many as there are runs, at most `n`; no
                 memory of `keys` or `x`. `words`, `marks`: `capacity` of them, at least one a tile of `THREADS * ITEMS` of the
                 elements and one more; `control`: one word. All zero at first, and of no other use at the same time.
    Numerics:    computes in `T`; reassociates `OP`, differently from run to run; `OP` need not be commutative. Keys are
                 compared by `!=`: every NaN is a run of its own.
    Errors:      if `aligned`, `x` must be, to `WIDTH` elements, at most 16 bytes in all; `keys` to `KEYED`, a divisor of `WIDTH`.
    Test:        tests/kernels/test_runs.py, tests/gpu/test_by_key.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    tiles: int32 @ grid[1] = int32((n + TILE) // TILE)  # of n + 1 places
    blocks: int32 @ grid[1] = count(block[1])
    skew: int32 @ grid[1] = 0 if aligned else -1
    with partition(unique, block[1]) as unique_out, partition(y, block[1]) as y_out:
        with partition(runs, block[1]) as runs_out, group(block[1]):
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            prefix: T @ block[1] = initial
            before: int64 @ block[1] = 0  # how many heads there are before the tile
            done: int32 @ block[1] = 0  # how many tiles' totals are in both
            between: T @ block[1] = identity  # what the tiles since then come to, and their heads
            number: int32[1] @ block[1] = {0}
            items: T[ITEMS] @ thread[1]  # of the tile that the block holds
            flags: uint32 @ thread[1] = 0
            facts: int32[3] @ thread[1] = {0}
            ahead: T[ITEMS] @ thread[1]  # of the following one
            coming: uint32 @ thread[1] = 0
            soon_facts: int32[3] @ thread[1] = {0}

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                nonlocal coming
                start: int64 @ block[1] = int64(tile) * TILE
                with partition(x, block[1], offset=start) as source:
                    block.load_tile(
                        source, ahead, extent(tile, n, TILE=TILE), identity, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False,
                    )
                block.prefetch_tile(x, tile + blocks, n, TILE=TILE)  # about what this block draws next
                block.prefetch_tile(keys, tile + blocks, n, TILE=TILE)
                end: int32 @ block[1] = int32(min(n - start, TILE))
                coming = key_flags(keys, start, extent(tile, n, TILE=TILE), end, ITEMS=ITEMS, WIDTH=WIDTH, KEYED=KEYED)
                total: T @ block[1] = block.scan_heads(
                    ahead, coming, soon_facts, identity, initial, WIDTH=WIDTH, OP=OP, EXCLUSIVE=True, RUNS=True,
                )
                grid.publish(words, tile, total, epoch)
                grid.publish(marks, tile, uint32(soon_facts[1]), epoch)

            @requires(block[1], thread["THREADS"])
            def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                nonlocal between
                between = grid.look_back_segments(
                    words, marks, done, tile, identity, epoch, number, OP=OP, THREADS=THREADS, WORDS=WORDS,
                )

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1]):
                nonlocal prefix, before, done
                prefix = between if number[0] != 0 else OP(prefix, between)  # not in `look_back`: measured, up to 9 % at 2^20
                before = before + number[0]
                t: int32 @ thread[1] = id()
                with partition(runs_out, thread[1]) as count_out, group(thread[1]):
                    if t == 0 and tile == tiles - 1:  # first: a host that waits goes on then; place `n` is a head too
                        count_out[0] = before + facts[1] - 1
                with group(thread[1]):
                    thread.continue_segment(items, prefix, at, facts[0], WIDTH=WIDTH, OP=OP, RUNS=True)
                here: int32 @ block[1] = tile
                assume(distinct(here))  # a number is drawn once
                write_runs(
                    keys, unique_out, y_out, items, flags, int64(here) * TILE, before + facts[2], n, WIDTH=WIDTH,
                )
                done = tile

            @requires(block[1], thread["THREADS"])
            def keep():
                nonlocal flags
                with group(thread[1]):
                    for k in range(ITEMS):
                        items[k] = ahead[k]
                    for k in range(3):
                        facts[k] = soon_facts[k]
                flags = coming

            last: grid.Ticket @ block[1] = grid.tile_loop(
                control, tiles, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS,
            )
            if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
                grid.count_launch(control, words, capacity, tiles, last.epoch, identity)
                grid.count_launch(control, marks, capacity, tiles, last.epoch, 0)


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, T=dtype, TO=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int))
def write_runs(
    keys: ptr(const(K)) @ grid[1], unique: ptr(K) @ block[1], y: ptr(TO) @ block[1], items: T[ITEMS] @ thread[1],
    flags: uint32 @ thread[1], start: int64 @ block[1], before: int64 @ thread[1], n: int64 @ grid[1],
):
    """Write what ends and what begins at the heads of the tile that begins at `start`; `before` of them precede the warp's.

    Perspective: block.
    Shapes:      `items`, `flags` as in `block.load_tile`: at each head, the aggregate of the run before it.
    """
    at: int64 @ thread[1] = start + block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    t: int32 @ thread[1] = id()
    lower: uint32 @ thread[1] = (uint32(1) << uint32(t % 32)) - 1
    next: int64 @ thread[1] = before
    with partition(unique, thread[1]) as keys_out, partition(y, thread[1]) as values_out, group(thread[32]):
        for j in range(ITEMS // WIDTH):
            row: uint32 @ thread[1] = flags >> (j * WIDTH)
            below: int32 @ thread[1] = 0  # heads of the row in lower lanes
            all: int32 @ thread[1] = 0
            for k in range(WIDTH):
                lanes: uint32 @ thread[32] = ballot((row >> k & 1) != 0)
                below = below + int32(popcount(lanes & lower))
                all = all + int32(popcount(lanes))
            with group(thread[1]):
                r: int64 = next + below
                for k in range(WIDTH):
                    p: int64 = at + (j * 32 * WIDTH + k)
                    if (row >> k & 1) != 0:
                        run: int64 = r
                        assume(distinct(run))  # as many heads are before it
                        if run > 0:
                            values_out[run - 1] = TO(items[j * WIDTH + k])
                        if p < n:
                            keys_out[run] = keys[p]
                        r = r + 1
            next = next + all


EXAMPLES = {
    "reduce_runs": {
        "TI": "float32", "T": "float32", "TO": "float32", "K": "int32", "OP": operators.add, "THREADS": 256, "ITEMS": 20,
        "WIDTH": 4, "BLOCKS": 2, "WORDS": 2, "KEYED": 4,
    },
}
