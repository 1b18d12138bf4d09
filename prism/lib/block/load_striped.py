"""A block loads a tile, adjacent elements into adjacent threads."""

from prism.lang import block, const, constexpr, count, dtype, group, id, int32, prism, ptr, requires, template, thread


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
