"""A block writes runs out: each value as often as it occurs."""

from prism.lang import (
    block, constexpr, count, dtype, group, id, int32, partition, prism, requires, shared, static_assert, template, thread,
)
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, RUNS=constexpr(int), ITEMS=constexpr(int), THREADS=constexpr(int))
def run_length_decode(
    values: T[RUNS] @ thread[1], lengths: int32[RUNS] @ thread[1], first: int32 @ block[1], items: T[ITEMS] @ thread[1],
    otherwise: T @ block[1],
) -> int32 @ block[1]:
    """Put element `first + k * THREADS + t` of the decoded runs into `items[k]` of thread `t`; behind the last one `otherwise`.

    Perspective: block, of `THREADS` threads.
    Shapes:      thread `t` has the runs from number `RUNS * t` on: `lengths[r]` elements `values[r]`, none where it is 0.
                 `items`: striped, as `block.store_striped` takes it. Where there are more elements than `THREADS * ITEMS`, it is
                 called again with another `first`, which is not negative.
    Returns:     how many elements there are in all: fewer than 2^31.
    Cost:        a scan of the lengths, one barrier, and `log2(THREADS * RUNS)` reads of shared memory for each item; `THREADS *
                 RUNS` values and lengths of shared memory.
    Test:        tests/lib/block/test_decode.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    starts: int32[RUNS] @ thread[1]
    for r in range(RUNS):
        starts[r] = lengths[r]
    total: int32 @ block[1] = block.scan(starts, 0, WIDTH=RUNS, OP=operators.add, EXCLUSIVE=True)
    table: shared(int32[THREADS * RUNS])
    found: shared(T[THREADS * RUNS])
    with partition(table, thread[1], offset=t * RUNS) as start, partition(found, thread[1], offset=t * RUNS) as value:
        with group(thread[1]):
            for r in range(RUNS):
                start[r] = starts[r]
                value[r] = values[r]
    with group(thread[1]):
        for k in range(ITEMS):
            place: int32 = first + k * THREADS + t
            run: int32 = thread.upper_bound(table, THREADS * RUNS, place, LESS=operators.less) - 1  # of those of length 0 none
            items[k] = found[max(run, 0)] if place < total else otherwise
    return total
