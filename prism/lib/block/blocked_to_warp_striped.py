"""A block hands its elements round, each warp its own: from adjacent ones in each thread to adjacent ones across its lanes."""

from prism.lang import (
    block, constexpr, count, dtype, group, id, int32, partition, prism, requires, shared, static_assert, template, thread,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def blocked_to_warp_striped(items: T[ITEMS] @ thread[1]):
    """From element `t * ITEMS + k` in `items[k]` of thread `t` to element `(t / 32 * ITEMS + k) * 32 + t % 32`, in place.

    Perspective: block, of `THREADS` threads.
    Cost:        a barrier of each warp; `THREADS * ITEMS` elements of shared memory, and a 32nd more for an even `ITEMS`.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    PAD: constexpr(int) = 1 - ITEMS % 2  # a place after 32 elements: the threads of a warp meet in no bank
    RUN: constexpr(int) = (32 + PAD) * ITEMS
    tile: shared(T[THREADS // 32 * RUN]) @ block[1]
    w: int32 @ thread[32] = id()
    with partition(tile, thread[32], offset=w * RUN) as run:
        with group(thread[32]):
            lane: int32 @ thread[1] = id()
            with partition(run, thread[1], offset=lambda k: lane * ITEMS + k + (lane * ITEMS + k) / 32 * PAD) as own:
                with group(thread[1]):
                    for k in range(ITEMS):
                        own[k] = items[k]
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = run[k * (32 + PAD) + lane]
