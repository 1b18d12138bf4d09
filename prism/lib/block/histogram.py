"""A block counts how often each number occurs."""

from prism.lang import atomic_add, block, constexpr, dtype, group, int32, prism, ptr, requires, static_assert, template, thread


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
