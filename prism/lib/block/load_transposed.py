"""A block loads a tile, adjacent elements into each thread, with adjacent threads reading adjacent elements."""

from prism.lang import block, const, constexpr, count, dtype, int32, prism, ptr, requires, static_assert, template, thread


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
