"""A block sorts a tile by a bitonic network: no element moves further than to its partner, whatever the data."""

from prism.lang import (
    block, constexpr, count, dtype, function, group, id, int32, partition, prism, requires, shared, static_assert, template,
    thread, warp,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function, TOTAL=constexpr(bool))
def sort_network(items: T[ITEMS] @ thread[1]):
    """Sort the tile in place, so that no element is `LESS` than the one before it.

    Perspective: block, of `THREADS` threads; `THREADS`, at least 32, and `ITEMS` are powers of two.
    Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. A partial tile is filled up with what sorts last.
                 `TOTAL`: of two elements one is less, unless they are the same in all bits.
    Numerics:    not stable: equal elements come in any order, always the same. A position in the element, compared last, makes
                 it stable, and `TOTAL`.
    Cost:        with `e` elements, `log2(e) * (log2(e) + 1) / 2` comparisons an element: in registers, by shuffles among the
                 lanes of a warp, and `w * (w + 1) / 2` through shared memory among the `2^w` warps, with two barriers each.
                 `THREADS * ITEMS` elements of shared memory.
    Source:      Batcher, "Sorting networks and their applications".
    Test:        tests/lib/block/test_network.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(THREADS >= 32 and THREADS & -THREADS == THREADS, "`THREADS` is a power of two of at least 32")
    warp.sort(items, SIZE=32, LESS=LESS, TOTAL=TOTAL)
    width: int32 @ block[1] = 32  # so many threads hold a sorted run together
    while width < THREADS:
        exchange(items, 2 * width - 1, ITEMS - 1, THREADS=THREADS, LESS=LESS, TOTAL=TOTAL)
        far: int32 @ block[1] = width / 2
        while far >= 32:
            exchange(items, far, 0, THREADS=THREADS, LESS=LESS, TOTAL=TOTAL)
            far = far / 2
        warp.merge_bitonic(items, SIZE=32, LESS=LESS, TOTAL=TOTAL)
        width = 2 * width


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function, TOTAL=constexpr(bool))
def exchange(items: T[ITEMS] @ thread[1], mask: int32 @ block[1], flip: int32 @ block[1]):
    """Compare each element with item `k ^ flip` of the thread whose number differs by `mask`, and keep what belongs here."""
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=t) as own:
        with group(thread[1]):
            for k in range(ITEMS):
                own[k * THREADS] = items[k]
    with group(thread[1]):
        low: bool = t < t ^ mask
        for k in range(ITEMS):
            other: T = tile[(k ^ flip) * THREADS + (t ^ mask)]
            items[k] = thread.keep(items[k], other, low, LESS=LESS, TOTAL=TOTAL)
