"""A block combines the items of each run of equal keys."""

from prism.lang import block, constexpr, dtype, function, group, id, int32, partition, prism, ptr, requires, template, thread
from prism.lib.thread import operators


@prism("device")
@requires(block[1], thread[32])
@template(K=dtype, T=dtype, ITEMS=constexpr(int), OP=function)
def reduce_by_key(
    keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], identity: T @ block[1],
    unique: ptr(K) @ block[1], results: ptr(T) @ block[1],
) -> int32 @ block[1]:
    """Put each run's key into `unique` and `OP` of its items into `results`, in the order of the runs.

    Perspective: block, of any number of warps.
    Shapes:      `keys`, `items`: blocked, element `t * ITEMS + k` in thread `t`, of which the first `valid` are there; keys from
                 `valid` on are of no account, items are `identity`. `unique`, `results`: an element a run.
    Returns:     the number of runs. `items` and `keys` keep nothing of use.
    Cost:        `block.heads`, `block.tails`, two scans: four barriers.
    Numerics:    reassociates `OP` inside a run, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_segments.py
    """
    t: int32 @ thread[1] = id()
    begins: bool[ITEMS] @ thread[1]
    ends: bool[ITEMS] @ thread[1]
    ranks: int32[ITEMS] @ thread[1]
    unused: K @ block[1] = 0
    block.heads(keys, begins, unused, True, WIDTH=ITEMS, DIFFERENT=operators.not_equal)
    block.tails(keys, ends, unused, True, WIDTH=ITEMS, DIFFERENT=operators.not_equal)
    with group(thread[1]):
        for k in range(ITEMS):
            ends[k] = (ends[k] or t * ITEMS + k == valid - 1) and t * ITEMS + k < valid
            ranks[k] = 1 if ends[k] else 0
    block.scan_segments(items, begins, identity, identity, WIDTH=ITEMS, OP=OP, EXCLUSIVE=False)
    runs: int32 @ block[1] = block.scan(ranks, 0, WIDTH=ITEMS, OP=operators.add, EXCLUSIVE=True)
    # Each run ends in one thread alone, which has the run's number and its result.
    with partition(unique, thread[1], offset=lambda run: run) as key:
        with partition(results, thread[1], offset=lambda run: run) as result:
            with group(thread[1]):
                for k in range(ITEMS):
                    if ends[k]:
                        key[ranks[k]] = keys[k]
                        result[ranks[k]] = items[k]
    return runs
