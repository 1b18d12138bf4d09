"""A warp loads a run of elements, adjacent ones into each lane, with adjacent lanes reading adjacent elements."""

from prism.lang import const, constexpr, dtype, int32, prism, ptr, requires, template, thread, warp


@prism("device")
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def load_transposed(
    x: ptr(const(T)) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32], otherwise: T @ thread[32]
):
    """Put `x[lane * ITEMS + k]` into `items[k]`; elements from `valid` on become `otherwise`.

    Perspective: warp.
    Shapes:      blocked; `x` need not be aligned. `valid` may be negative.
    Cost:        `ITEMS` coalesced accesses a lane, and `warp.striped_to_blocked`.
    Test:        tests/lib/warp/test_exchange.py
    """
    warp.load(x, items, valid, otherwise, WIDTH=1, VECTORIZED=False)
    warp.striped_to_blocked(items)
