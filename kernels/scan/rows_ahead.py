"""Scans along an axis of few columns, as `scan_whole_rows` has them, of tiles that a copy engine brings ahead.

One warp asks for whole tiles, two before the others need them; these add up a tile where it lies in shared memory, look back, and
write it from there. So the memory is busy while a block adds up and waits for other blocks.
"""

from prism.lang import (
    assume, atomic_add, attr, block, bulk_load, claim, const, constexpr, count, distinct, dtype, function, grid, group, id,
    int32, int64, mailbox, may_alias, one, partition, prism, ptr, publish, requires, roles, shared, store_relaxed, template,
    thread, uint32, uint64, warp,
)
from prism.lib.thread import operators


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, WARPS=constexpr(int), ADDERS=constexpr(int), ITEMS=constexpr(int), COPIES=constexpr(int),
    WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
@requires(grid[1], block[1], warp["WARPS + ADDERS + 1"])
@attr("__launch_bounds__(32 * (WARPS + ADDERS + 1), 1)")
@may_alias("x", "y")
def scan_rows_ahead(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], outer: int64 @ grid[1], n: int64 @ grid[1], inner: int64 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1], words: ptr(mailbox(T)) @ grid[1], apart: int32 @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """What `scan_whole_rows` computes, of an array `x` that begins at a multiple of 16 bytes; `WARPS` warps add up.

    Perspective: grid, of as many blocks for each outer index: a multiple of `outer` blocks of `WARPS + 1` warps.
    Shapes:      as of `scan_whole_rows`, of `32 * WARPS` threads; a row has at least 16 bytes. `COPIES` tiles stand in shared
                 memory. Where `ITEMS` is 1 more than a multiple of 128 bytes, no two lanes meet in a bank.
    Numerics:    as of `scan_whole_rows`.
    Test:        tests/kernels/test_scan_columns.py, tests/gpu/test_scan_axis.py
    """
    THREADS: constexpr(int) = 32 * WARPS
    EVEN: constexpr(int) = 16 // TI.bytes  # elements of what the copy engine copies a multiple of
    width: int32 @ grid[1] = int32(inner)
    chunks: int32 @ grid[1] = THREADS // width
    height: int32 @ grid[1] = chunks * ITEMS  # rows of a tile
    stride: int32 @ grid[1] = -width if REVERSE else width
    sharers: int32 @ grid[1] = count(block[1]) // int32(outer)
    tiles: int32 @ grid[1] = int32((n + (height - 1)) // height)
    b: int32 @ block[1] = id()
    s: int32 @ block[1] = b % int32(outer)
    letters: int64 @ block[1] = int64(s) * capacity * apart  # this outer index's
    with partition(y, block[1], races="allow") as whole, group(block[1]):  # `x` may be the same memory: each tile is one block's
        lines: shared(TI[(THREADS * ITEMS + 2 * EVEN) // EVEN * EVEN], ring=COPIES, align=16)
        following: shared(uint64[1], ring=COPIES + 1)
        sums: shared(T[THREADS], ring=COPIES)  # of a tile's chunks
        parts: shared(T[THREADS])  # of the tiles between
        writers, adders, loader = roles(warp, WARPS, ADDERS, 1)
        t: int32 @ thread[1] = id()
        a: int32 @ thread[1] = t - THREADS  # of an adder
        column: int32 @ thread[1] = t % width
        chunk: int32 @ thread[1] = t // width
        top: int32 @ thread[1] = chunk * ITEMS if chunk < chunks else height  # the first row; threads behind have none
        prefix: T @ thread[1] = initial  # of the column, in front of the tile
        done: int32 @ block[1] = 0  # how many tiles' totals are in the prefix
        ticket: grid.Ticket @ block[1] = grid.tiles(control, s)
        tile: int32 @ block[1] = ticket.tile
        epoch: uint32 @ block[1] = ticket.epoch
        while tile < tiles:
            valid: int32 @ block[1] = int32(min(n - int64(tile) * height, height))
            rows: int64 @ block[1] = n - int64(tile) * height - valid if REVERSE else int64(tile) * height  # in front of it
            start: int64 @ block[1] = (s * n + rows) * inner
            head: int64 @ block[1] = start % EVEN  # elements that are copied before it
            last: int64 @ block[1] = (outer * n * inner - start + head) // EVEN * EVEN
            many: int32 @ block[1] = int32(min((head + valid * inner + (EVEN - 1)) // EVEN * EVEN, last))
            full: bool @ block[1] = valid == height and many >= height * width + int32(head)
            with claim(lines, loader) as coming, one(thread):
                bulk_load(coming, x[start - head], n=many)
            with claim(following, loader) as own, claim(own, thread[1]) as word, one(thread):
                word[0] = atomic_add(control[s], 1)
            with claim(lines, adders) as here, claim(sums, adders) as of_chunks:
                with partition(of_chunks, thread[1], lambda k: a + k * (32 * ADDERS)) as own, group(thread[1]):
                    for k in range(WARPS // ADDERS):
                        place: int32 = a + k * (32 * ADDERS)
                        first: int32 = place // width * ITEMS if place < chunks * width else height
                        spot: int32 = (valid - 1 - first if REVERSE else first) * width + place % width + int32(head)
                        own[k] = add_rows(
                            here, x, start - head, spot, stride, many, min(valid - first, ITEMS), full, identity, OP=OP,
                            ITEMS=ITEMS,
                        )
                with group(thread[1]):
                    if a < apart:  # as many words in each launch, whatever the columns are
                        total: T = identity
                        if a < width:
                            for q in range(chunks):
                                total = OP(total, of_chunks[q * width + a])
                        publish(words[letters + int64(tile) * apart + a], total, epoch)
            rows_here: int32 @ thread[1] = min(valid - top, ITEMS)  # of the chunk; none where it is negative
            origin: int32 @ thread[1] = (valid - 1 - top if REVERSE else top) * width + column  # of the chunk, in the tile
            share: int32 @ block[1] = (max(tile - done, 0) + (chunks * WORDS - 1)) // (chunks * WORDS) * WORDS
            there: int32 @ block[1] = tile
            assume(distinct(s, there))  # an outer index's numbers are drawn once
            with (
                partition(whole, block[1], offset=start) as target, claim(target, writers) as out,
                claim(parts, writers) as of_tiles, claim(lines, writers) as here, claim(sums, writers) as of_chunks,
            ):  # fmt: skip
                # Each chunk's threads add up a share of the tiles since the block's last one, of their columns.
                with partition(of_tiles, thread[1], t) as own, group(thread[1]):
                    first: int32 = done + chunk * share
                    own[0] = grid.receive_totals(
                        words, letters + int64(first) * apart + column, apart, max(tile - first, 0), share, identity, epoch,
                        OP=OP, WORDS=WORDS,
                    )
                above: T @ thread[1] = identity  # of the chunks above this one
                with group(thread[1]):
                    for q in range(chunks):
                        prefix = OP(prefix, of_tiles[q * width + column])
                        above = OP(above, of_chunks[q * width + column]) if q < chunk else above
                # rows lie among those of other threads
                with partition(out, thread[1], offset=origin, races="none") as mine, group(thread[1]):
                    store_rows(
                        here, x, mine, start - head, origin + int32(head), stride, many, rows_here, full, OP(prefix, above),
                        identity, OP=OP, ITEMS=ITEMS, EXCLUSIVE=EXCLUSIVE,
                    )
            done = tile
            with partition(following, block[1], 0) as now:
                tile = int32(now[0])
        if tile == tiles + sharers - 1:  # every block of the outer index has drawn its last number
            stale: int64 @ block[1] = epoch % capacity
            with group(thread[1]):
                if t == 0:
                    store_relaxed(control[s], uint64(epoch) << 32)
                # Each launch marks words that it doesn't use: see `grid.count_launch`.
                if stale >= tiles and t < apart:
                    publish(words[letters + stale * apart + t], identity, epoch)


@prism.device
@requires(thread[1])
@template(TI=dtype, T=dtype, OP=function, ROOM=constexpr(int), ITEMS=constexpr(int))
def add_rows(
    tile: const(shared(TI[ROOM])) @ thread[1], x: ptr(const(TI)) @ thread[1], begin: int64 @ thread[1], at: int32 @ thread[1],
    stride: int32 @ thread[1], many: int32 @ thread[1], rows: int32 @ thread[1], full: bool @ thread[1], identity: T @ thread[1],
) -> T @ thread[1]:
    """`OP` of a column of some rows of a tile, `stride` apart from `tile[at]` on; of an array's last few elements from `x`."""
    total: T = identity
    if full and rows == ITEMS:
        for j in range(ITEMS):
            total = OP(total, T(tile[at + j * stride]))
    else:
        for j in range(ITEMS):
            spot: int32 = at + j * stride
            if j < rows:
                total = OP(total, T(tile[spot] if spot < many else x[begin + spot]))
    return total


@prism.device
@requires(thread[1])
@template(TI=dtype, T=dtype, TO=dtype, OP=function, ROOM=constexpr(int), ITEMS=constexpr(int), EXCLUSIVE=constexpr(bool))
def store_rows(
    tile: const(shared(TI[ROOM])) @ thread[1], x: ptr(const(TI)) @ thread[1], y: ptr(TO) @ thread[1], begin: int64 @ thread[1],
    at: int32 @ thread[1], stride: int32 @ thread[1], many: int32 @ thread[1], rows: int32 @ thread[1], full: bool @ thread[1],
    before: T @ thread[1], identity: T @ thread[1],
):
    """Write the scan of what `add_rows` adds up, behind `before`, `stride` apart from `y[0]` on."""
    sum: T = identity
    if full and rows == ITEMS:
        for j in range(ITEMS):
            earlier: T = sum
            sum = OP(sum, T(tile[at + j * stride]))
            y[j * stride] = TO(OP(before, earlier if EXCLUSIVE else sum))
    else:
        for j in range(ITEMS):
            spot: int32 = at + j * stride
            if j < rows:
                earlier: T = sum
                sum = OP(sum, T(tile[spot] if spot < many else x[begin + spot]))
                y[j * stride] = TO(OP(before, earlier if EXCLUSIVE else sum))


EXAMPLES = {
    "scan_rows_ahead": {
        "TI": "float32", "T": "float32", "TO": "float32", "OP": operators.add, "WARPS": 16, "ADDERS": 8, "ITEMS": 33,
        "COPIES": 3, "WORDS": 4, "EXCLUSIVE": False, "REVERSE": False,
    },
}
