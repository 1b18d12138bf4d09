"""Scans along an axis that is not the last: of an array seen as (outer, n, inner), along n.

Neighbouring threads take neighbouring columns. There are three ways, by how many columns there are: a thread scans columns of its
own; a block scans a strip of them, a tile of rows at a time; several blocks share a strip, and look back as in `single_pass`.
"""

from prism.lang import (
    assume, attr, block, const, constexpr, count, distinct, dtype, function, grid, group, id, int32, int64,
    load_vector, mailbox, may_alias, partition, prefetch, prism, ptr, publish, requires, split, store_relaxed,
    store_vector, template, thread, uint32, uint64, vector,
)
from prism.kernels.scan.strips import load_strip, put_before, scan_strip, store_strip
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
@may_alias("x", "y")
def scan_columns_by_thread(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], outer: int64 @ grid[1], n: int64 @ grid[1], inner: int64 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1],
):
    """`y[o, i, c] = OP(initial, x[o, 0, c], ..., x[o, i, c])`, without the last where `EXCLUSIVE`; from the end where `REVERSE`.

    Perspective: grid, of any number of blocks of `THREADS` threads; each thread takes `WIDTH` adjacent columns at a time.
    Shapes:      `x`, `y`: `outer * n * inner` elements; they may be the same memory. `inner` is a multiple of `WIDTH`.
    Numerics:    computes in `T`, from left to right: `OP` need be neither commutative nor associative.
    Errors:      with `WIDTH > 1`, `x` and `y` must be aligned to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/kernels/test_scan_columns.py, tests/gpu/test_scan_axis.py
    """
    ROWS: constexpr(int) = ITEMS // WIDTH  # under way at once
    strips: int64 @ grid[1] = inner // WIDTH
    threads: int64 @ grid[1] = int64(count(block[1])) * THREADS
    me: int64 @ thread[1] = id()
    with partition(y, thread[1], races="allow") as mine:  # `x` may be the same memory: each column is one thread's
        with group(thread[1]):
            step: int64 = -inner if REVERSE else inner
            for s in range(me, outer * strips, threads):
                base: int64 = s // strips * n * inner + s % strips * WIDTH + ((n - 1) * inner if REVERSE else 0)
                running: T[WIDTH]
                for k in range(WIDTH):
                    running[k] = initial
                for i in range(0, n, ROWS):
                    items: T[ITEMS]
                    for j in range(ROWS):
                        if i + j < n:
                            if WIDTH > 1:
                                word: vector(TI, WIDTH) = load_vector(x[base + (i + j) * step], WIDTH)
                                for k in range(WIDTH):
                                    items[j * WIDTH + k] = T(word[k])
                            else:
                                items[j] = T(x[base + (i + j) * step])
                        else:
                            for k in range(WIDTH):
                                items[j * WIDTH + k] = identity
                    for j in range(ROWS):
                        for k in range(WIDTH):
                            here: T = OP(running[k], items[j * WIDTH + k])
                            items[j * WIDTH + k] = running[k] if EXCLUSIVE else here
                            running[k] = here
                    for j in range(ROWS):
                        if i + j < n:
                            if WIDTH > 1:
                                result: vector(TO, WIDTH)
                                for k in range(WIDTH):
                                    result[k] = TO(items[j * WIDTH + k])
                                store_vector(mine[base + (i + j) * step], result)
                            else:
                                mine[base + (i + j) * step] = TO(items[j])


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), TX=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
@may_alias("x", "y")
def scan_columns(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], outer: int64 @ grid[1], n: int64 @ grid[1], inner: int64 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1],
):
    """What `scan_columns_by_thread` computes; a block takes `TX * WIDTH` adjacent columns at a time.

    Numerics:    computes in `T`; reassociates `OP`, in a way fixed by the template; `OP` need not be commutative.
    """
    TILE: constexpr(int) = THREADS // TX * (ITEMS // WIDTH)  # rows
    COLUMNS: constexpr(int) = TX * WIDTH
    strips: int64 @ grid[1] = (inner + (COLUMNS - 1)) // COLUMNS
    blocks: int64 @ grid[1] = count(block[1])
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    stride: int64 @ grid[1] = -inner if REVERSE else inner
    me: int64 @ block[1] = id()
    with partition(y, block[1], races="allow") as whole:  # `x` may be the same memory: each strip is one block's
        with group(block[1]):
            for s in range(me, outer * strips, blocks):
                first: int64 @ block[1] = s // strips * n * inner + s % strips * COLUMNS + ((n - 1) * inner if REVERSE else 0)
                columns: int32 @ block[1] = int32(min(max(inner - s % strips * COLUMNS, 0), COLUMNS))
                prefix: T[WIDTH] @ thread[1]
                totals: T[WIDTH] @ thread[1]
                items: T[ITEMS] @ thread[1]
                ahead: T[ITEMS] @ thread[1]
                with group(thread[1]):
                    for k in range(WIDTH):
                        prefix[k] = initial
                with partition(x, block[1], offset=first) as source:
                    load_strip(source, stride, extent(0, n, TILE=TILE), columns, ahead, identity, WIDTH=WIDTH, TX=TX)
                for tile in range(0, tiles):
                    with group(thread[1]):
                        for k in range(ITEMS):
                            items[k] = ahead[k]
                    with partition(x, block[1], offset=first + int64(tile + 1) * TILE * stride) as source:
                        load_strip(source, stride, extent(tile + 1, n, TILE=TILE), columns, ahead, identity, WIDTH=WIDTH, TX=TX)
                    scan_strip(items, totals, identity, WIDTH=WIDTH, TX=TX, OP=OP, THREADS=THREADS, EXCLUSIVE=EXCLUSIVE)
                    with group(thread[1]):
                        put_before(items, prefix, WIDTH=WIDTH, OP=OP)
                        for k in range(WIDTH):
                            prefix[k] = OP(prefix[k], totals[k])
                    with partition(whole, block[1], offset=first + int64(tile) * TILE * stride) as target:
                        store_strip(target, stride, extent(tile, n, TILE=TILE), columns, items, WIDTH=WIDTH, TX=TX)


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), TX=constexpr(int), WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
@may_alias("x", "y")
def scan_columns_shared(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], outer: int64 @ grid[1], n: int64 @ grid[1], inner: int64 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1], words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1],
    control: ptr(uint64) @ grid[1],
):
    """What `scan_columns_by_thread` computes; several blocks share a strip of `TX * WIDTH` adjacent columns, at most 32.

    Perspective: grid, of as many blocks for each strip: a multiple of `outer * ceil(inner / (TX * WIDTH))` blocks.
    Shapes:      `words`: `capacity * TX * WIDTH` a strip, `capacity` at least the number of tiles of
                 `THREADS / TX * ITEMS / WIDTH` rows. `control`: one word a strip. Both are zero at first, of no other use at the
                 same time, and always of the same `capacity`.
    Numerics:    computes in `T`; reassociates `OP`, differently from run to run; `OP` need not be commutative.
    """
    TILE: constexpr(int) = THREADS // TX * (ITEMS // WIDTH)  # rows
    COLUMNS: constexpr(int) = TX * WIDTH
    strips: int32 @ grid[1] = int32((inner + (COLUMNS - 1)) // COLUMNS)
    all: int32 @ grid[1] = int32(outer) * strips
    sharers: int32 @ grid[1] = count(block[1]) // all
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    stride: int64 @ grid[1] = -inner if REVERSE else inner
    b: int32 @ block[1] = id()
    s: int32 @ block[1] = b % all
    first: int64 @ block[1] = int64(s // strips) * n * inner + s % strips * COLUMNS + ((n - 1) * inner if REVERSE else 0)
    columns: int32 @ block[1] = int32(min(max(inner - s % strips * COLUMNS, 0), COLUMNS))
    letters: int64 @ block[1] = int64(s) * capacity * COLUMNS  # this strip's
    with partition(y, block[1], races="allow") as whole:  # `x` may be the same memory: each tile of a strip is one block's
        with group(block[1]):
            t: int32 @ thread[1] = id()
            prefix: T[WIDTH] @ thread[1]
            with group(thread[1]):
                for k in range(WIDTH):
                    prefix[k] = initial
            done: int32 @ block[1] = 0  # how many tiles' totals are in the prefix
            items: T[ITEMS] @ thread[1]  # of the tile that the block holds
            ahead: T[ITEMS] @ thread[1]  # of the following one
            totals: T[WIDTH] @ thread[1]

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                with partition(x, block[1], offset=first + int64(tile) * TILE * stride) as source:
                    load_strip(source, stride, extent(tile, n, TILE=TILE), columns, ahead, identity, WIDTH=WIDTH, TX=TX)
                match split(thread):
                    case 1:
                        # About what this block draws next, in as many rows of all strips as it takes in bytes: those
                        # lie in one piece, and all that are at these rows ask for them together.
                        soon: int32 = tile + sharers
                        rows: int32 = extent(soon, n, TILE=TILE)
                        piece: int64 = (rows * inner + (strips - 1)) // strips
                        start: int64 = s % strips * piece
                        top: int64 = n - int64(soon) * TILE - rows if REVERSE else int64(soon) * TILE
                        lying: int64 = (s // strips * n + top) * inner
                        prefetch(x[lying + start], int32(min(piece, rows * inner - start)))
                scan_strip(ahead, totals, identity, WIDTH=WIDTH, TX=TX, OP=OP, THREADS=THREADS, EXCLUSIVE=EXCLUSIVE)
                with group(thread[1]):
                    if t < TX:
                        for k in range(WIDTH):
                            publish(words[letters + int64(tile) * COLUMNS + t * WIDTH + k], totals[k], epoch)

            @requires(block[1], thread["THREADS"])
            def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
                nonlocal done
                grid.look_back_columns(
                    words, letters, done, tile, identity, epoch, prefix, WIDTH=WIDTH, TX=TX, OP=OP, THREADS=THREADS, WORDS=WORDS,
                )
                done = max(tile, 0)

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1]):
                there: int32 @ block[1] = tile
                with group(thread[1]):
                    put_before(items, prefix, WIDTH=WIDTH, OP=OP)
                assume(distinct(s, there))  # a strip's numbers are drawn once
                with partition(whole, block[1], offset=first + int64(there) * TILE * stride) as target:
                    store_strip(target, stride, extent(there, n, TILE=TILE), columns, items, WIDTH=WIDTH, TX=TX)

            @requires(block[1], thread["THREADS"])
            def keep():
                with group(thread[1]):
                    for k in range(ITEMS):
                        items[k] = ahead[k]

            last: grid.Ticket @ block[1] = grid.tile_loop(
                control, tiles, s, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS,
            )
            if last.tile == tiles + sharers - 1:  # every block of the strip has drawn its last number
                stale: int64 @ block[1] = last.epoch % capacity
                with group(thread[1]):
                    if t == 0:
                        store_relaxed(control[s], uint64(last.epoch) << 32)
                    # Each launch marks words that it doesn't use: see `grid.count_launch`.
                    if stale >= tiles and t < COLUMNS:
                        publish(words[letters + stale * COLUMNS + t], identity, last.epoch)


EXAMPLES = {
    "scan_columns_by_thread": {
        "TI": "float32", "T": "float32", "TO": "float32", "OP": operators.add, "THREADS": 256, "ITEMS": 32, "WIDTH": 4,
        "EXCLUSIVE": False, "REVERSE": False,
    },
    "scan_columns": {
        "TI": "float32", "T": "float32", "TO": "float32", "OP": operators.add, "THREADS": 256, "ITEMS": 24, "WIDTH": 4,
        "BLOCKS": 2, "TX": 16, "EXCLUSIVE": False, "REVERSE": False,
    },
    "scan_columns_shared": {
        "TI": "float32", "T": "float32", "TO": "float32", "OP": operators.add, "THREADS": 256, "ITEMS": 24, "WIDTH": 4,
        "BLOCKS": 2, "TX": 2, "WORDS": 4, "EXCLUSIVE": False, "REVERSE": False,
    },
}
