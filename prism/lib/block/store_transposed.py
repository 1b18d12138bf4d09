"""A block stores a tile, adjacent elements from each thread, with adjacent threads writing adjacent elements."""

from prism.lang import block, constexpr, count, dtype, int32, prism, ptr, requires, static_assert, template, thread


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
