"""A block stores a tile: each warp a run of it."""

from prism.lang import (
    block, constexpr, dtype, id, int32, partition, prism, ptr, requires, static_assert, template, thread, warp,
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
