"""A block fills memory with a value."""

from prism.lang import block, count, dtype, group, id, int32, partition, prism, ptr, requires, template, thread


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
