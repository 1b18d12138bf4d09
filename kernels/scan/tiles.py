"""A tile of an array in a block's registers: loaded with a conversion, in either direction, and stored so."""

from prism.lang import (
    block, const, constexpr, count, dtype, group, id, int32, int64, load_vector, partition, prism, ptr, requires, store_vector,
    template, thread, vector,
)


@prism("device")
@requires(thread[1])
@template(TILE=constexpr(int))
def extent(tile: int32 @ thread[1], n: int64 @ thread[1]) -> int32 @ thread[1]:
    """How many of a tile's elements there are: fewer than `TILE` in the last tile, none beyond it."""
    return int32(min(max(n - int64(tile) * TILE, 0), TILE))


@prism("device")
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int))
def place() -> int32 @ thread[1]:
    """Where in the tile the first of this thread's elements is: rows of `32 * WIDTH` adjacent elements, warp after warp."""
    t: int32 @ thread[1] = id()
    return t / 32 * (32 * ITEMS) + t % 32 * WIDTH


@prism("device")
@requires(block[1], thread[32])
@template(
    TI=dtype, T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), REVERSE=constexpr(bool),
)
def load_tile(
    x: ptr(const(TI)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1],
    aligned: bool @ block[1], before: int32 @ block[1],
):
    """Spread the tile that starts at `x[0]` over the block's registers, as `T`; elements from `valid` on become `otherwise`.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread, a multiple of `WIDTH`, laid out as by `block.load`: element `j * WIDTH + k` of a
                 thread is element `place() + j * 32 * WIDTH + k` of the tile. With `REVERSE` the tile's last element is
                 taken for its first, and so on. So become those below `before`, which is 0 if `aligned`.
    Cost:        `ITEMS / WIDTH` accesses a thread where `aligned` and all are valid, else `ITEMS`; no barrier.
    Errors:      if `aligned`, `x` must be, to `WIDTH` elements; of more than 16 bytes they are taken one by one.
    Test:        tests/kernels/test_scan.py
    """
    at: int32 @ thread[1] = place(ITEMS=ITEMS, WIDTH=WIDTH)
    first: int32 @ thread[1] = count(thread[1]) * ITEMS - WIDTH - at if REVERSE else at
    with partition(x, thread[1], offset=first) as mine:
        with group(thread[1]):
            for j in range(ITEMS // WIDTH):
                with partition(mine, thread[1], offset=-j * 32 * WIDTH if REVERSE else j * 32 * WIDTH) as source:
                    left: int32 = valid - first + (j * 32 * WIDTH if REVERSE else -j * 32 * WIDTH)
                    skip: int32 = before - first + (j * 32 * WIDTH if REVERSE else -j * 32 * WIDTH)
                    row: T[WIDTH]
                    if WIDTH * TI.bytes <= 16 and aligned and left >= WIDTH:
                        word: vector(TI, WIDTH) = load_vector(source[0], WIDTH)
                        for k in range(WIDTH):
                            row[k] = T(word[k])
                    else:
                        for k in range(WIDTH):
                            row[k] = T(source[k]) if skip <= k < left else otherwise
                    for k in range(WIDTH):
                        items[j * WIDTH + k] = row[WIDTH - 1 - k if REVERSE else k]


@prism("device")
@requires(block[1], thread[32])
@template(
    T=dtype, TO=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), REVERSE=constexpr(bool), KEPT=constexpr(bool),
)
def store_tile(
    y: ptr(TO) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], aligned: bool @ block[1],
    before: int32 @ block[1],
):
    """Collect the tile that starts at `y[0]` from the block's registers, as `TO`; what `load_tile` replaces is not written.

    Perspective, Shapes, Errors, Test: as `load_tile`.
    Cost:        as of `load_tile`. Vectors go past the L1, as nothing reads them again, unless `KEPT`: the compiler doesn't take
                 such stores apart, but keeps each one's address in registers.
    """
    at: int32 @ thread[1] = place(ITEMS=ITEMS, WIDTH=WIDTH)
    first: int32 @ thread[1] = count(thread[1]) * ITEMS - WIDTH - at if REVERSE else at
    with partition(y, thread[1], offset=first, races="allow") as mine:  # rows of one thread lie among those of the others
        with group(thread[1]):
            for j in range(ITEMS // WIDTH):
                with partition(mine, thread[1], offset=-j * 32 * WIDTH if REVERSE else j * 32 * WIDTH) as target:
                    left: int32 = valid - first + (j * 32 * WIDTH if REVERSE else -j * 32 * WIDTH)
                    skip: int32 = before - first + (j * 32 * WIDTH if REVERSE else -j * 32 * WIDTH)
                    row: T[WIDTH]
                    for k in range(WIDTH):
                        row[k] = items[j * WIDTH + (WIDTH - 1 - k if REVERSE else k)]
                    if WIDTH * TO.bytes <= 16 and aligned and left >= WIDTH:
                        word: vector(TO, WIDTH)
                        for k in range(WIDTH):
                            word[k] = TO(row[k])
                        if KEPT:
                            store_vector(target[0], word)
                        else:
                            store_vector(target[0], word, cache="no_allocate")
                    else:
                        for k in range(WIDTH):
                            if skip <= k < left:
                                target[k] = TO(row[k])
