"""Each thread of a block gets the value of another, some places on."""

from prism.lang import (
    block, constexpr, count, dtype, group, id, int32, partition, prism, requires, shared, static_assert, template, thread,
)


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int))
def offset(value: T @ thread[1], distance: int32 @ block[1], otherwise: T @ thread[1]) -> T @ thread[1]:
    """The value of the thread `distance` further on, `otherwise` where there is none; `distance` may be negative.

    Perspective: block, of `THREADS` threads.
    Cost:        one barrier; `THREADS` elements of shared memory.
    Test:        tests/lib/block/test_shuffle.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    values: shared(T[THREADS]) @ block[1]
    with partition(values, thread[1], offset=t) as own:
        with group(thread[1]):
            own[0] = value
    result: T @ thread[1] = otherwise
    with group(thread[1]):
        if t + distance >= 0 and t + distance < THREADS:
            result = values[t + distance]
    return result
