"""Scans along an axis of few columns, as many as no vector has: a tile is whole rows, which lie in memory in one piece.

A thread has a column of some adjacent rows, a chunk; chunks lie one below the other. So all that a block asks for is used,
whatever the number of columns is, and they need be aligned to nothing.
"""

from prism.lang import (
    assume, attr, block, const, constexpr, count, distinct, dtype, function, grid, group, id, int32, int64, mailbox, may_alias,
    partition, prefetch, prism, ptr, publish, requires, shared, split, store_relaxed, template, thread, uint32, uint64,
)
from prism.lib.thread import operators


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), BLOCKS=constexpr(int),
    WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
@may_alias("x", "y")
def scan_whole_rows(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], outer: int64 @ grid[1], n: int64 @ grid[1], inner: int64 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1], words: ptr(mailbox(T)) @ grid[1], apart: int32 @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """What `scan_columns_by_thread` computes; several blocks share an index of the outer axis, each with tiles of whole rows.

    Perspective: grid, of as many blocks for each outer index: a multiple of `outer` blocks.
    Shapes:      `inner`: at most `THREADS`. A tile has `THREADS / inner` chunks of `ITEMS` rows. `words`: `capacity * apart` an
                 outer index, `capacity` at least the number of tiles, `apart` from `inner` to `THREADS`. `control`: one word an
                 outer index. Both are zero at first, of no other use at the same time, and always of the same `capacity` and
                 `apart`.
    Numerics:    computes in `T`; reassociates `OP`, differently from run to run; `OP` need not be commutative.
    Test:        tests/kernels/test_scan_columns.py, tests/gpu/test_scan_axis.py
    """
    width: int32 @ grid[1] = int32(inner)
    chunks: int32 @ grid[1] = THREADS // width
    height: int32 @ grid[1] = chunks * ITEMS  # rows of a tile
    sharers: int32 @ grid[1] = count(block[1]) // int32(outer)
    tiles: int32 @ grid[1] = int32((n + (height - 1)) // height)
    stride: int32 @ grid[1] = -width if REVERSE else width
    b: int32 @ block[1] = id()
    s: int32 @ block[1] = b % int32(outer)
    first: int64 @ block[1] = s * n * inner + ((n - 1) * inner if REVERSE else 0)
    letters: int64 @ block[1] = int64(s) * capacity * apart  # this outer index's
    with partition(y, block[1], races="allow") as whole:  # `x` may be the same memory: each tile is one block's
        with group(block[1]):
            sums: shared(T[THREADS])  # of a tile's chunks
            parts: shared(T[THREADS])  # of the tiles between
            t: int32 @ thread[1] = id()
            column: int32 @ thread[1] = t % width
            chunk: int32 @ thread[1] = t // width
            top: int32 @ thread[1] = chunk * ITEMS if chunk < chunks else height  # the first row; threads behind have none
            prefix: T @ thread[1] = initial  # of the column, in front of the held tile
            above: T @ thread[1] = identity  # of the held tile's chunks above this one
            coming: T @ thread[1] = identity  # and of the following tile's
            done: int32 @ block[1] = 0  # how many tiles' totals are in the prefix
            items: shared(T[THREADS * ITEMS])  # of the tile that the block holds: registers have no room for two
            ahead: T[ITEMS] @ thread[1]  # of the following one

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                nonlocal coming
                total: T @ thread[1] = identity
                with partition(x, block[1], offset=first + int64(tile) * height * stride) as source, group(thread[1]):
                    valid: int32 = int32(min(n - int64(tile) * height, height))
                    here: int32 = top * stride + column
                    if top + ITEMS <= valid:
                        for j in range(ITEMS):
                            ahead[j] = T(source[here + j * stride])
                    else:
                        for j in range(ITEMS):
                            ahead[j] = T(source[here + j * stride]) if top + j < valid else identity
                match split(thread):
                    case 1:
                        soon: int64 = tile + sharers  # about what this block draws next
                        rows: int64 = min(max(n - soon * height, 0), height)
                        lying: int64 = s * n + (n - soon * height - rows if REVERSE else soon * height)
                        prefetch(x[lying * inner], int32(rows * inner))
                with group(thread[1]):
                    for j in range(ITEMS):
                        sum: T = OP(total, ahead[j])
                        ahead[j] = total if EXCLUSIVE else sum
                        total = sum
                with partition(sums, thread[1], t) as own, group(thread[1]):
                    own[0] = total
                with group(thread[1]):
                    coming = identity
                    total = identity
                    for q in range(chunks):
                        coming = total if q == chunk else coming
                        total = OP(total, sums[q * width + column])
                    if t < apart:  # as many words in each launch, whatever the columns are
                        publish(words[letters + int64(tile) * apart + t], total if t < width else identity, epoch)

            @requires(block[1], thread["THREADS"])
            def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                nonlocal done, prefix
                # Each chunk's threads add up a share of the tiles since the block's last one, of their columns.
                share: int32 @ block[1] = (max(tile - done, 0) + (chunks * WORDS - 1)) // (chunks * WORDS) * WORDS
                with partition(parts, thread[1], t) as own, group(thread[1]):
                    start: int32 = done + chunk * share
                    own[0] = grid.receive_totals(
                        words, letters + int64(start) * apart + column, apart, max(tile - start, 0), share, identity, epoch,
                        OP=OP, WORDS=WORDS,
                    )
                with group(thread[1]):
                    for q in range(chunks):
                        prefix = OP(prefix, parts[q * width + column])
                done = max(tile, 0)

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1]):
                there: int32 @ block[1] = tile
                assume(distinct(s, there))  # an outer index's numbers are drawn once
                with partition(whole, block[1], offset=first + int64(there) * height * stride) as target:
                    # rows lie among those of other threads
                    with partition(target, thread[1], offset=top * stride + column, races="none") as mine, partition(
                        items, thread[1], offset=t, races="none"
                    ) as own, group(thread[1]):
                        valid: int32 = int32(min(n - int64(there) * height, height))
                        before: T = OP(prefix, above)
                        if top + ITEMS <= valid:
                            for j in range(ITEMS):
                                mine[j * stride] = TO(OP(before, own[j * THREADS]))
                        else:
                            for j in range(ITEMS):
                                if top + j < valid:
                                    mine[j * stride] = TO(OP(before, own[j * THREADS]))

            @requires(block[1], thread["THREADS"])
            def keep():
                nonlocal above
                with partition(items, thread[1], offset=t, races="none") as own, group(thread[1]):  # every `THREADS`-th
                    above = coming
                    for j in range(ITEMS):
                        own[j * THREADS] = ahead[j]

            last: grid.Ticket @ block[1] = grid.tile_loop(
                control, tiles, s, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS,
            )
            if last.tile == tiles + sharers - 1:  # every block of the outer index has drawn its last number
                stale: int64 @ block[1] = last.epoch % capacity
                with group(thread[1]):
                    if t == 0:
                        store_relaxed(control[s], uint64(last.epoch) << 32)
                    # Each launch marks words that it doesn't use: see `grid.count_launch`.
                    if stale >= tiles and t < apart:
                        publish(words[letters + stale * apart + t], identity, last.epoch)


EXAMPLES = {
    "scan_whole_rows": {
        "TI": "float32", "T": "float32", "TO": "float32", "OP": operators.add, "THREADS": 512, "ITEMS": 24, "BLOCKS": 1,
        "WORDS": 4, "EXCLUSIVE": False, "REVERSE": False,
    },
}
