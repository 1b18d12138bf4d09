"""A block counts how often each number occurs."""

from prism.lang import (
    atomic_add, block, constexpr, count, dtype, group, id, int32, partition, prism, ptr, requires, static_assert,
    template, thread,
)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int, default=0))
def fill(y: ptr(T) @ block[1], value: T @ block[1], n: int32 @ block[1]):
    """Put `value` into `y[0] ... y[n - 1]`.

    Perspective: block, of any number of threads.
    Shapes:      `n`: 0 or more. `THREADS`: how many threads the block has, where a kernel knows that; else 0. With it, and a
                 constant `n`, the code is a store for each element that a thread has; else a loop, which the compiler unrolls.
    Cost:        `n / threads` coalesced accesses a thread; no barrier.
    Test:        tests/lib/block/test_histogram.py
    """
    t: int32 @ thread[1] = id()
    if THREADS > 0:
        static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
        with partition(y, thread[1], offset=t) as mine, group(thread[1]):
            for k in range(n // THREADS):
                mine[k * THREADS] = value
            if t < n % THREADS:
                mine[n // THREADS * THREADS] = value
    else:
        threads: int32 @ block[1] = count(thread[1])
        with partition(y, thread[1], offset=t) as mine:
            with group(thread[1]):
                for k in range(0, n - t, threads):
                    mine[k] = value


@prism.device
@requires(block[1], thread[1])
@template(C=dtype, ITEMS=constexpr(int), COPIES=constexpr(int, default=1), WITHIN=constexpr(bool, default=False))
def histogram(items: int32[ITEMS] @ thread[1], bins: ptr(C) @ block[1], size: int32 @ block[1]):
    """Add to `bins[b]` how many of the block's items are `b`; items that are not in `0 ... size - 1` are left out.

    With `COPIES` each thread counts in one of so many copies of the bins, thread `t` in copy `t % COPIES`: those of bin `b` are
    `bins[b * COPIES] ... bins[b * COPIES + COPIES - 1]`, side by side. With 32 copies in shared memory no two lanes of a warp
    meet in a bank, whatever the items are. `grid.histogram` adds copies up.

    Perspective: block, of any number of threads.
    Shapes:      `bins`: `size * COPIES` numbers of 32 or 64 bits, in shared or global memory, which `block.fill` clears.
                 `COPIES`: a power of two. `WITHIN`: no item is to be left out.
    Cost:        `ITEMS` atomic additions a thread; no barrier.
    Test:        tests/lib/block/test_histogram.py
    """
    static_assert(C.bytes == 4 or C.bytes == 8, "bins are of 32 or 64 bits")
    static_assert(COPIES & -COPIES == COPIES, "there are 2^k copies")
    t: int32 @ thread[1] = id()
    copy: int32 @ thread[1] = t & COPIES - 1
    with partition(bins, thread[1], offset=copy, races="none") as mine, group(thread[1]):
        for k in range(ITEMS):
            if WITHIN or 0 <= items[k] and items[k] < size:
                atomic_add(mine[items[k] * COPIES], 1, scope="block")


@prism.device
@requires(block[1], thread[1])
@template(C=dtype, ITEMS=constexpr(int), COPIES=constexpr(int, default=1), WITHIN=constexpr(bool, default=False))
def add_weights(
    items: int32[ITEMS] @ thread[1], weights: C[ITEMS] @ thread[1], bins: ptr(C) @ block[1], size: int32 @ block[1]
):
    """Add each weight to `bins[b]`, where `b` is the item beside it; items that are not in `0 ... size - 1` are left out.

    Perspective: block, of any number of threads.
    Shapes:      `bins`, `COPIES`, `WITHIN`: as of `block.histogram`; integers, float32 or float64.
    Cost:        `ITEMS` atomic additions a thread; no barrier.
    Numerics:    weights of a bin are added in any order: sums of floats may differ from launch to launch.
    Test:        tests/lib/block/test_histogram.py
    """
    static_assert(C.bytes == 4 or C.bytes == 8, "bins are of 32 or 64 bits")
    static_assert(COPIES & -COPIES == COPIES, "there are 2^k copies")
    t: int32 @ thread[1] = id()
    copy: int32 @ thread[1] = t & COPIES - 1
    with partition(bins, thread[1], offset=copy, races="none") as mine, group(thread[1]):
        for k in range(ITEMS):
            if WITHIN or 0 <= items[k] and items[k] < size:
                atomic_add(mine[items[k] * COPIES], weights[k], scope="block")
