"""A block stores a tile."""

from prism.lang import (
    block, constexpr, count, dtype, group, id, int32, partition, prism, ptr, requires, static_assert, template, thread,
    warp,
)


@prism("device")
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


@prism("device")
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


@prism("device")
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
