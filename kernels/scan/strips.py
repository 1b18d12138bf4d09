"""Strips: some adjacent columns of a matrix, in a block's registers, a tile of rows at a time.

Lane `l` of a warp holds columns `l % TX * WIDTH ...` of the strip, of row `l / TX` of each of its `ITEMS / WIDTH` slots: a slot
is `32 / TX` adjacent rows, a warp has its slots one below the other, and the warps of a block follow one another. `TX` is a power
of two, and `TX * WIDTH` columns are a strip.
"""

from prism.lang import (
    block, const, constexpr, dtype, function, group, id, int32, int64, load_vector, partition, prism, ptr, requires,
    shared, shuffle, shuffle_up, store_vector, template, thread, vector,
)


@prism.device
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int), TX=constexpr(int))
def first_row() -> int32 @ thread[1]:
    """The tile's row that this thread's first slot has; the next slots have every `32 / TX`-th further row."""
    t: int32 @ thread[1] = id()
    return t // 32 * (ITEMS // WIDTH) * (32 // TX) + t % 32 // TX


@prism.device
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int), TX=constexpr(int), T=dtype, TI=dtype)
def load_strip(
    x: ptr(const(TI)) @ block[1], stride: int64 @ block[1], rows: int32 @ block[1], columns: int32 @ block[1],
    items: T[ITEMS] @ thread[1], otherwise: T @ block[1],
):
    """Spread a tile of a strip over the block's registers, as `T`: row r begins at `x[r * stride]`.

    Perspective: block.
    Shapes:      `rows` and `columns` of the tile are there, the rest become `otherwise`.
    Errors:      with `WIDTH > 1`, `x` must be aligned to `WIDTH` elements, at most 16 bytes in all, and `stride` and `columns`
                 multiples of it.
    Test:        tests/kernels/test_scan_columns.py
    """
    row: int32 @ thread[1] = first_row(ITEMS=ITEMS, WIDTH=WIDTH, TX=TX)
    t: int32 @ thread[1] = id()
    column: int32 @ thread[1] = t % TX * WIDTH
    with group(thread[1]):
        here: int64 = row * stride + column
        for j in range(ITEMS // WIDTH):
            if row + j * (32 // TX) < rows and column < columns:
                if WIDTH > 1:
                    word: vector(TI, WIDTH) = load_vector(x[here + j * (32 // TX) * stride], WIDTH)
                    for k in range(WIDTH):
                        items[j * WIDTH + k] = T(word[k])
                else:
                    items[j] = T(x[here + j * (32 // TX) * stride])
            else:
                for k in range(WIDTH):
                    items[j * WIDTH + k] = otherwise


@prism.device
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int), TX=constexpr(int), T=dtype, TO=dtype)
def store_strip(
    y: ptr(TO) @ block[1], stride: int64 @ block[1], rows: int32 @ block[1], columns: int32 @ block[1],
    items: T[ITEMS] @ thread[1],
):
    """Collect a tile of a strip from the block's registers, as `TO`; what is not there is not written. As `load_strip`."""
    row: int32 @ thread[1] = first_row(ITEMS=ITEMS, WIDTH=WIDTH, TX=TX)
    t: int32 @ thread[1] = id()
    column: int32 @ thread[1] = t % TX * WIDTH
    with partition(y, thread[1], offset=row * stride + column, races="none") as mine:  # rows lie among those of other threads
        with group(thread[1]):
            for j in range(ITEMS // WIDTH):
                if row + j * (32 // TX) < rows and column < columns:
                    if WIDTH > 1:
                        word: vector(TO, WIDTH)
                        for k in range(WIDTH):
                            word[k] = TO(items[j * WIDTH + k])
                        store_vector(mine[j * (32 // TX) * stride], word)
                    else:
                        mine[j * (32 // TX) * stride] = TO(items[j])


@prism.device
@requires(block[1], thread[32])
@template(
    ITEMS=constexpr(int), WIDTH=constexpr(int), TX=constexpr(int), T=dtype, OP=function, THREADS=constexpr(int),
    EXCLUSIVE=constexpr(bool),
)
def scan_strip(items: T[ITEMS] @ thread[1], totals: T[WIDTH] @ thread[1], identity: T @ block[1]):
    """Scan each column of a tile, in place; `totals` becomes `OP` of all rows of this thread's columns.

    Perspective: block of `THREADS` threads.
    Shapes:      as `load_strip`.
    Cost:        `log2(32 / TX) + 1` shuffles an element at most, one barrier, `WIDTH` elements of each warp read.
    Numerics:    reassociates `OP`, in a way fixed by the template; `OP` need not be commutative.
    """
    sums: shared(T[THREADS // 32 * TX * WIDTH]) @ block[1]
    t: int32 @ thread[1] = id()
    lane: int32 @ thread[1] = t % 32
    w: int32 @ thread[32] = id()
    before: T[WIDTH] @ thread[1]
    with group(thread[32]):
        for k in range(WIDTH):
            before[k] = identity
        for j in range(ITEMS // WIDTH):
            for k in range(WIDTH):
                sum: T @ thread[1] = items[j * WIDTH + k]
                for step in range(5):
                    if TX << step < 32:
                        above: T @ thread[1] = shuffle_up(sum, (TX << step) % 32)
                        sum = OP(above, sum) if lane >= TX << step else sum
                if EXCLUSIVE:
                    if TX < 32:
                        last: T @ thread[1] = shuffle_up(sum, TX % 32)
                        items[j * WIDTH + k] = OP(before[k], last) if lane >= TX else before[k]
                    else:
                        items[j * WIDTH + k] = before[k]
                else:
                    items[j * WIDTH + k] = OP(before[k], sum)
                if TX < 32:
                    sum = shuffle(sum, 32 - TX + lane % TX)
                before[k] = OP(before[k], sum)
    with partition(sums, thread[1], offset=(t // 32 * TX + lane % TX) * WIDTH, races="none") as own:  # one thread writes each
        with group(thread[1]):
            if lane < TX:
                for k in range(WIDTH):
                    own[k] = before[k]
    with group(thread[1]):
        for k in range(WIDTH):
            here: T = identity
            total: T = identity
            for v in range(THREADS // 32):
                here = total if v == w else here
                total = OP(total, sums[(v * TX + lane % TX) * WIDTH + k])
            totals[k] = total
            for j in range(ITEMS // WIDTH):
                items[j * WIDTH + k] = OP(here, items[j * WIDTH + k])


@prism.device
@requires(thread[1])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int), T=dtype, OP=function)
def put_before(items: T[ITEMS] @ thread[1], prefix: T[WIDTH] @ thread[1]):
    """Put a prefix of each column in front of a thread's elements."""
    for j in range(ITEMS // WIDTH):
        for k in range(WIDTH):
            items[j * WIDTH + k] = OP(prefix[k], items[j * WIDTH + k])
