"""A block puts each element at its rank: adjacent places across the threads."""

from prism.lang import (
    block, constexpr, count, dtype, group, id, int32, partition, prism, requires, shared, static_assert, template, thread,
)


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def scatter_to_striped(items: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], ranked: int32 @ block[1]):
    """Put the element of rank `k * THREADS + t` into `items[k]` of thread `t`, in place.

    Perspective: block, of `THREADS` threads.
    Shapes:      the ranks of the tile are 0 to `ranked - 1`, each once; an element with a negative one is dropped. Places from
                 `ranked` on keep what they have.
    Cost:        one barrier; `THREADS * ITEMS` elements of shared memory.
    Errors:      two elements of one rank race; the reference machine says so.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot:
        with group(thread[1]):
            for k in range(ITEMS):
                if ranks[k] >= 0:
                    spot[ranks[k]] = items[k]
    with group(thread[1]):
        for k in range(ITEMS):
            if k * THREADS + t < ranked:
                items[k] = tile[k * THREADS + t]
