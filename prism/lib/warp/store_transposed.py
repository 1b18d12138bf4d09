"""A warp stores a run of elements, adjacent ones from each lane, with adjacent lanes writing adjacent elements."""

from prism.lang import constexpr, dtype, int32, prism, ptr, requires, template, thread, warp


@prism("device")
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def store_transposed(y: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32]):
    """Put `items[k]` into `y[lane * ITEMS + k]`; elements from `valid` on are not written. `items` is permuted.

    Perspective: warp.
    Shapes:      blocked; `y` need not be aligned. `valid` may be negative.
    Cost:        `warp.blocked_to_striped`, and `ITEMS` coalesced accesses a lane.
    Test:        tests/lib/warp/test_exchange.py
    """
    warp.blocked_to_striped(items)
    warp.store(y, items, valid, WIDTH=1, VECTORIZED=False)
