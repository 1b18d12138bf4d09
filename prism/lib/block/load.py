"""A block loads a tile."""

from prism.lang import (
    block, const, constexpr, count, dtype, grid, group, id, int32, int64, load_vector, partition, prefetch, prism, ptr, requires,
    split, static_assert, template, thread, uint32, vector, warp,
)
from prism.lib.thread.words import element, first_row, last_row, load_row


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool))
def load(
    x: ptr(const(T)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1]
):
    """Spread the tile that starts at `x[0]` over the block's registers; elements from `valid` on become `otherwise`.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread; warp `w` holds the run from `x[w * 32 * ITEMS]` on, laid out as `warp.load`
                 does. `valid` may be negative.
    Cost:        `ITEMS / WIDTH` accesses a thread where `VECTORIZED` and all are valid, else `ITEMS`; no barrier.
    Errors:      with `VECTORIZED`, `x` must be aligned to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/lib/block/test_load_store.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(not VECTORIZED or WIDTH * T.bytes <= 16, "a vector has at most 16 bytes")
    static_assert(not VECTORIZED or WIDTH & -WIDTH == WIDTH, "a vector has 2^k elements")
    first: int32 @ thread[32] = id() * (32 * ITEMS)
    with partition(x, thread[32], offset=first) as run:
        warp.load(run, items, valid - first, otherwise, WIDTH=WIDTH, VECTORIZED=VECTORIZED)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int))
def load_striped(
    x: ptr(const(T)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1]
):
    """Put `x[k * threads + t]` into `items[k]` of thread `t`; elements from `valid` on become `otherwise`.

    Perspective: block, of any number of threads.
    Shapes:      striped over the block; `x` need not be aligned. `valid` may be negative.
    Cost:        `ITEMS` coalesced accesses a thread; no barrier.
    Test:        tests/lib/block/test_exchange.py
    """
    threads: int32 @ block[1] = count(thread[1])
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = x[k * threads + t] if k * threads + t < valid else otherwise


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def load_transposed(
    x: ptr(const(T)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1]
):
    """Put `x[t * ITEMS + k]` into `items[k]` of thread `t`; elements from `valid` on become `otherwise`.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked; `x` need not be aligned. `valid` may be negative.
    Cost:        `ITEMS` coalesced accesses a thread, and `block.warp_striped_to_blocked`: barriers of warps alone.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    block.load(x, items, valid, otherwise, WIDTH=1, VECTORIZED=False)
    block.warp_striped_to_blocked(items, THREADS=THREADS)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, TILE=constexpr(int))
def prefetch_tile(x: ptr(const(T)) @ grid[1], tile: int32 @ block[1], n: int64 @ block[1]):
    """Ask for tile `tile` of `TILE` elements, of an array of `n`, to be brought into the L2, and go on at once.

    Perspective: block, of any number of threads.
    Shapes:      `x`: `n` elements, in tiles from `x[0]` on; of one beyond them nothing is asked for. `tile` is not negative.
    Cost:        an instruction of the first thread; no barrier. A hint: about what the block loads next is good enough.
    Test:        tests/lib/block/test_load_store.py
    """
    match split(thread):
        case 1:
            prefetch(x[int64(tile) * TILE], thread.extent(tile, n, TILE=TILE))


@prism.device
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int))
def place() -> int32 @ thread[1]:
    """Where in the tile this thread's elements begin, as `block.load` lays them out; row `j` is `j * 32 * WIDTH` further.

    Perspective: block, of any number of warps.
    Cost:        some arithmetic; no barrier.
    Test:        tests/lib/block/test_load_store.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    t: int32 @ thread[1] = id()
    return t // 32 * (32 * ITEMS) + t % 32 * WIDTH


@prism.device
@requires(block[1], thread[32])
@template(
    TI=dtype, T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), REVERSE=constexpr(bool), SPARE=constexpr(bool),
)
def load_tile(
    x: ptr(const(TI)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1],
    skew: int32 @ block[1], before: int32 @ block[1],
):
    """Spread the tile that starts at `x[0]` over the block's registers, as `T`; elements from `valid` on become `otherwise`.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread, a multiple of `WIDTH`, laid out as by `block.load`: element `j * WIDTH + k` of a
                 thread is element `block.place() + j * 32 * WIDTH + k` of the tile. With `REVERSE` the tile's last element is
                 taken for its first, and so on. Elements below `before` become `otherwise` too. `skew`: how many elements stand
                 between one that is aligned, to `WIDTH` elements, and `x[0]`; less than 0: it is not known. `SPARE`: the caller
                 has registers to spare, and holds no other tile.
    Cost:        `ITEMS / WIDTH` accesses a thread where `skew` is 0 and all elements are there, twice as many where it is more
                 and vectors are 16 bytes of small elements, else `ITEMS`. Vectors of more than 16 bytes are taken one by one. No
                 barrier.
    Test:        tests/lib/block/test_load_store.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    VECTORS: constexpr(bool) = WIDTH * TI.bytes <= 16
    STEP: constexpr(int) = -32 * WIDTH if REVERSE else 32 * WIDTH
    at: int32 @ thread[1] = place(ITEMS=ITEMS, WIDTH=WIDTH)
    first: int32 @ thread[1] = count(thread[1]) * ITEMS - WIDTH - at if REVERSE else at
    with partition(x, thread[1], offset=first) as mine:
        if VECTORS and skew == 0 and before == 0 and valid >= count(thread[1]) * ITEMS:
            with group(thread[1]):
                for j in range(ITEMS // WIDTH):
                    with partition(mine, thread[1], offset=j * STEP) as source:
                        word: vector(TI, WIDTH) = load_vector(source[0], WIDTH)
                        for k in range(WIDTH):
                            items[j * WIDTH + k] = T(word[WIDTH - 1 - k if REVERSE else k])
        else:
            with group(thread[1]):
                load_edges(
                    mine, items, first, valid, otherwise, skew, before, WIDTH=WIDTH, REVERSE=REVERSE, VECTORS=VECTORS,
                    SPARE=SPARE,
                )


@prism.device
@requires(thread[1])
@template(
    TI=dtype, T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), REVERSE=constexpr(bool), VECTORS=constexpr(bool),
    SPARE=constexpr(bool),
)
def load_edges(
    x: ptr(const(TI)) @ thread[1], items: T[ITEMS] @ thread[1], first: int32 @ thread[1], valid: int32 @ thread[1],
    otherwise: T @ thread[1], skew: int32 @ thread[1], before: int32 @ thread[1],
):
    """What `load_tile` loads where it is not whole, or not aligned; `x[0]` is the thread's element `first` of the tile.

    Everything is loaded before any of it is converted, so that loads don't wait for each other. Rows are first all loaded
    by vectors, those that are not whole from where one is, and then these one by one. That takes more registers; where none are
    to spare only vectors of 16 bytes of small elements are loaded so; other rows are loaded in one of both ways each.
    """
    SMALL: constexpr(bool) = TI.bytes <= 2 and WIDTH * TI.bytes == 16
    AHEAD: constexpr(bool) = VECTORS and (SPARE or SMALL)
    EXACT: constexpr(bool) = TI == T
    STEP: constexpr(int) = -32 * WIDTH if REVERSE else 32 * WIDTH
    lowest: int32 = first_row(before, skew, WIDTH=WIDTH)
    highest: int32 = last_row(valid, skew, WIDTH=WIDTH)
    near: bool = (skew == 0 or (SMALL and skew > 0)) and lowest <= highest
    raw: TI[ITEMS]
    if AHEAD and near:
        for j in range(ITEMS // WIDTH):
            with partition(x, thread[1], offset=min(max(first + j * STEP, lowest), highest) - first) as source:
                if SMALL:
                    words: uint32[4]
                    load_row(source, words, skew, TI=TI, WIDTH=WIDTH)
                    # By way of `T`, which changes nothing: NVRTC then keeps halves of short scans in registers of their own. 2^20
                    # float16 take 3.13 us so on an H200, and 3.47 else.
                    for k in range(WIDTH):
                        raw[j * WIDTH + k] = TI(element(words[k * 4 // WIDTH], k % (WIDTH // 4), TI=TI, T=T, WIDTH=WIDTH))
                else:
                    word: vector(TI, WIDTH) = load_vector(source[0], WIDTH)
                    for k in range(WIDTH):
                        raw[j * WIDTH + k] = word[k]
    for j in range(ITEMS // WIDTH):
        here: int32 = first + j * STEP
        with partition(x, thread[1], offset=j * STEP) as source:
            if not (VECTORS and near) or not lowest <= here <= highest:
                for k in range(WIDTH):
                    raw[j * WIDTH + k] = source[k] if before - here <= k < valid - here else TI(otherwise if EXACT else 0)
            elif VECTORS and not AHEAD:
                word: vector(TI, WIDTH) = load_vector(source[0], WIDTH)
                for k in range(WIDTH):
                    raw[j * WIDTH + k] = word[k]
    for j in range(ITEMS // WIDTH):
        here: int32 = first + j * STEP
        for k in range(WIDTH):
            m: int32 = WIDTH - 1 - k if REVERSE else k
            there: bool = EXACT or before - here <= m < valid - here
            items[j * WIDTH + k] = T(raw[j * WIDTH + m]) if there else otherwise
