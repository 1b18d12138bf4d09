"""A block counts how often each number occurs."""

from prism.lang import (
    atomic_add, block, constexpr, count, dtype, group, id, int32, partition, prism, ptr, requires, static_assert,
    template, thread,
)


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype)
def fill(y: ptr(T) @ block[1], value: T @ block[1], n: int32 @ block[1]):
    """Put `value` into `y[0] ... y[n - 1]`.

    Perspective: block, of any number of threads.
    Cost:        `n / threads` coalesced accesses a thread; no barrier.
    Test:        tests/lib/block/test_histogram.py
    """
    threads: int32 @ block[1] = count(thread[1])
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as mine:
        with group(thread[1]):
            for k in range(0, n - t, threads):
                mine[k] = value


@prism("device")
@requires(block[1], thread[1])
@template(C=dtype, ITEMS=constexpr(int))
def histogram(items: int32[ITEMS] @ thread[1], bins: ptr(C) @ block[1], size: int32 @ block[1]):
    """Add to `bins[b]` how many of the block's items are `b`; items that are not in `0 ... size - 1` are left out.

    Perspective: block, of any number of threads.
    Shapes:      `bins`: `size` numbers of 32 or 64 bits, in shared or global memory, which `block.fill` clears.
    Cost:        `ITEMS` atomic additions a thread; no barrier.
    Test:        tests/lib/block/test_histogram.py
    """
    static_assert(C.bytes == 4 or C.bytes == 8, "bins are of 32 or 64 bits")
    with group(thread[1]):
        for k in range(ITEMS):
            if items[k] >= 0 and items[k] < size:
                atomic_add(bins[items[k]], 1, scope="block")
