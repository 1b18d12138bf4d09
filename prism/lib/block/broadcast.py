"""A block learns the value of one of its threads."""

from prism.lang import block, dtype, group, id, int32, partition, prism, requires, shared, template, thread


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype)
def broadcast(value: T @ thread[1], source: int32 @ block[1]) -> T @ block[1]:
    """Thread `source`'s value, for the whole block.

    Perspective: block, of more than `source` threads.
    Cost:        one barrier; one element of shared memory.
    Test:        tests/lib/block/test_shuffle.py
    """
    t: int32 @ thread[1] = id()
    cell: shared(T[1]) @ block[1]
    with partition(cell, thread[1], offset=0, races="none") as own:  # one thread alone writes: `source`
        with group(thread[1]):
            if t == source:
                own[0] = value
    return cell[0]
