"""A block stores a tile."""

from prism.lang import (
    block, constexpr, count, dtype, group, id, int32, partition, prism, ptr, requires, static_assert, store_vector,
    template, thread, vector, warp,
)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool))
def store(y: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1]):
    """Collect the tile that starts at `y[0]` from the block's registers; elements from `valid` on are not written.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them: warp `w` holds the run from `y[w * 32 * ITEMS]` on. `valid` may be negative.
    Cost:        `ITEMS / WIDTH` accesses a thread where `VECTORIZED` and all are valid, else `ITEMS`; no barrier.
    Errors:      with `VECTORIZED`, `y` must be aligned to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/lib/block/test_load_store.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(not VECTORIZED or WIDTH * T.bytes <= 16, "a vector has at most 16 bytes")
    static_assert(not VECTORIZED or WIDTH & -WIDTH == WIDTH, "a vector has 2^k elements")
    first: int32 @ thread[32] = id() * (32 * ITEMS)
    with partition(y, thread[32], offset=first) as run:
        warp.store(run, items, valid - first, WIDTH=WIDTH, VECTORIZED=VECTORIZED)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int))
def store_striped(y: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1]):
    """Put `items[k]` of thread `t` into `y[k * threads + t]`; elements from `valid` on are not written.

    Perspective: block, of any number of threads.
    Shapes:      striped over the block; `y` need not be aligned. `valid` may be negative.
    Cost:        `ITEMS` coalesced accesses a thread; no barrier.
    Test:        tests/lib/block/test_exchange.py
    """
    threads: int32 @ block[1] = count(thread[1])
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as mine:
        with group(thread[1]):
            for k in range(ITEMS):
                if k * threads + t < valid:
                    mine[k * threads] = items[k]


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def store_transposed(y: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1]):
    """Put `items[k]` of thread `t` into `y[t * ITEMS + k]`; elements from `valid` on are not written. `items` is permuted.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked; `y` need not be aligned. `valid` may be negative.
    Cost:        `block.blocked_to_warp_striped`, with barriers of warps alone, and `ITEMS` coalesced accesses a thread.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    block.blocked_to_warp_striped(items, THREADS=THREADS)
    block.store(y, items, valid, WIDTH=1, VECTORIZED=False)


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, TO=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), REVERSE=constexpr(bool), KEPT=constexpr(bool),
)
def store_tile(
    y: ptr(TO) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], aligned: bool @ block[1],
    before: int32 @ block[1],
):
    """Collect the tile that starts at `y[0]` from the block's registers, as `TO`; what `block.load_tile` replaces is not written.

    Perspective: block, of any number of warps.
    Shapes:      as of `block.load_tile`, with `REVERSE` too: elements below `before` and from `valid` on are not written.
    Errors:      if `aligned`, `y` must be, to `WIDTH` elements, at most 16 bytes in all.
    Cost:        `ITEMS / WIDTH` accesses a thread where `aligned` and all elements are there, else `ITEMS`; no barrier. Vectors
                 go past the L1, as nothing reads them again, unless `KEPT`: the compiler doesn't take such stores apart, but
                 keeps each one's address in registers.
    Test:        tests/lib/block/test_load_store.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    VECTORS: constexpr(bool) = WIDTH * TO.bytes <= 16
    STEP: constexpr(int) = -32 * WIDTH if REVERSE else 32 * WIDTH
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    first: int32 @ thread[1] = count(thread[1]) * ITEMS - WIDTH - at if REVERSE else at
    with partition(y, thread[1], offset=first, races="none") as mine:  # rows of one thread lie among those of the others
        if VECTORS and aligned and before == 0 and valid >= count(thread[1]) * ITEMS:
            with group(thread[1]):
                for j in range(ITEMS // WIDTH):
                    with partition(mine, thread[1], offset=j * STEP) as target:
                        word: vector(TO, WIDTH)
                        for k in range(WIDTH):
                            word[k] = TO(items[j * WIDTH + (WIDTH - 1 - k if REVERSE else k)])
                        if KEPT:
                            store_vector(target[0], word)
                        else:
                            store_vector(target[0], word, cache="no_allocate")
        else:
            with group(thread[1]):
                for j in range(ITEMS // WIDTH):
                    with partition(mine, thread[1], offset=j * STEP) as target:
                        here: int32 = first + j * STEP
                        row: TO[WIDTH]
                        for k in range(WIDTH):
                            row[k] = TO(items[j * WIDTH + (WIDTH - 1 - k if REVERSE else k)])
                        if VECTORS and aligned and before <= here and here + WIDTH <= valid:
                            word: vector(TO, WIDTH)
                            for k in range(WIDTH):
                                word[k] = row[k]
                            if KEPT:
                                store_vector(target[0], word)
                            else:
                                store_vector(target[0], word, cache="no_allocate")
                        else:
                            for k in range(WIDTH):
                                if before - here <= k < valid - here:
                                    target[k] = row[k]
