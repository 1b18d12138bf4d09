"""The blocks of a grid add up what each has counted."""

from prism.lang import (
    atomic_add, block, const, constexpr, count, dtype, grid, group, id, int32, int64, prism, ptr, requires, static_assert,
    template, thread,
)


@prism.device
@requires(block[1], thread[1])
@template(N=dtype, C=dtype, COPIES=constexpr(int, default=1))
def histogram(counts: ptr(const(N)) @ block[1], bins: ptr(C) @ grid[1], size: int32 @ block[1], first: int64 @ block[1] = 0):
    """Add the block's `counts[0] ... counts[size - 1]` to the grid's `bins`, which have all blocks' when the launch has ended.

    Each block counts for itself first, by `block.histogram` in shared memory: so that many equal elements do not meet at one
    place in memory. With `COPIES` it counted in so many, side by side: their sums are added.

    Perspective: block, of any number of threads.
    Shapes:      `counts`: `size * COPIES`, the block's own, in shared memory, as a rule. `bins`: numbers of 32 or 64 bits; they
                 begin as the caller leaves them, so zero. `counts[0]` is added to `bins[first]`. `COPIES`: a power of two.
    Cost:        `COPIES` reads a count, and an atomic addition for each that is not 0; no barrier.
    Errors:      no block knows when the others have added theirs: the next launch reads the bins, or the host.
    Test:        tests/lib/grid/test_histogram.py
    """
    static_assert(C.bytes == 4 or C.bytes == 8, "bins are of 32 or 64 bits")
    threads: int32 @ block[1] = count(thread[1])
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for b in range(t, size, threads):
            number: N = counts[b * COPIES + (t & COPIES - 1)]
            for c in range(1, COPIES):  # each thread begins with another copy: in another bank
                number = number + counts[b * COPIES + (t + c & COPIES - 1)]
            if number != 0:
                atomic_add(bins[first + b], C(number))
