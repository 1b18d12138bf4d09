"""A block hands its elements round: from adjacent ones across the threads to adjacent ones in each thread."""

from prism.lang import (
    block, constexpr, count, dtype, group, id, int32, partition, prism, requires, shared, static_assert, template, thread,
)


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def striped_to_blocked(items: T[ITEMS] @ thread[1]):
    """From element `k * THREADS + t` of the tile in `items[k]` of thread `t` to element `t * ITEMS + k`, in place.

    Perspective: block, of `THREADS` threads.
    Cost:        one barrier; `THREADS * ITEMS` elements of shared memory, and a 32nd more for an even `ITEMS`.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    PAD: constexpr(int) = 1 - ITEMS % 2  # a place after 32 elements: the threads of a warp meet in no bank
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS + (THREADS * ITEMS + 31) // 32 * PAD]) @ block[1]
    with partition(tile, thread[1], offset=lambda k: k * THREADS + t + (k * THREADS + t) / 32 * PAD) as own:
        with group(thread[1]):
            for k in range(ITEMS):
                own[k] = items[k]
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = tile[t * ITEMS + k + (t * ITEMS + k) / 32 * PAD]
