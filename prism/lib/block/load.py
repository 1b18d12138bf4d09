"""A block loads a tile."""

from prism.lang import (
    block, const, constexpr, count, dtype, group, id, int32, partition, prism, ptr, requires, static_assert, template,
    thread, warp,
)


@prism("device")
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


@prism("device")
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


@prism("device")
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
