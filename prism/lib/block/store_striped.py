"""A block stores a tile, adjacent elements from adjacent threads."""

from prism.lang import block, constexpr, count, dtype, group, id, int32, partition, prism, ptr, requires, template, thread


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
