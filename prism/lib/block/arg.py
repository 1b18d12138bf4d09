"""A block finds the best of one value of each thread, and where it came from."""

from prism.lang import (
    block, claim, count, dtype, function, group, id, int32, partition, prism, requires, shared, split, template, thread,
    warp,
)
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, I=dtype, BEFORE=function)
def arg_reduce(value: T @ thread[1], index: I @ thread[1], best: T[1] @ block[1]) -> I @ block[1]:
    """The index of the value that stands `BEFORE` all others; of equal ones, the least index. The value goes to `best[0]`.

    Perspective: block, of any number of warps.
    Shapes:      `index` is any integer that tells the values apart.
    Cost:        a warp's, one barrier, and a read of each warp's result; 32 values and indices of shared memory.
    Test:        tests/lib/block/test_arg.py
    """
    values: shared(T[32]) @ block[1]
    indices: shared(I[32]) @ block[1]
    found: T[1] @ thread[32]
    where: I @ thread[32] = warp.arg_reduce(value, index, found, BEFORE=BEFORE)
    w: int32 @ thread[32] = id()
    with partition(values, thread[32], offset=w) as own_value, partition(indices, thread[32], offset=w) as own_index:
        with group(thread[32]):
            with claim(own_value, thread[1]) as slot, claim(own_index, thread[1]) as spot:
                match split(thread):
                    case 1:
                        slot[0] = found[0]
                        spot[0] = where
    result: T @ block[1] = values[0]
    place: I @ block[1] = indices[0]
    for v in range(1, count(warp[1])):
        other: T @ block[1] = values[v]
        better: bool @ block[1] = BEFORE(other, result) or (not BEFORE(result, other) and indices[v] < place)
        result = other if better else result
        place = indices[v] if better else place
    best[0] = result
    return place


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, I=dtype)
def argmax(value: T @ thread[1], index: I @ thread[1], best: T[1] @ block[1]) -> I @ block[1]:
    """The index of the greatest value; of equal ones, the least index. The value goes to `best[0]`. A NaN wins, as in NumPy.

    Perspective: block, of any number of warps.
    Shapes:      `index` is any integer that tells the values apart.
    Cost:        as `block.arg_reduce`.
    Test:        tests/lib/block/test_arg.py
    """
    return block.arg_reduce(value, index, best, BEFORE=operators.higher)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, I=dtype)
def argmin(value: T @ thread[1], index: I @ thread[1], best: T[1] @ block[1]) -> I @ block[1]:
    """The index of the least value; of equal ones, the least index. The value goes to `best[0]`. A NaN wins, as in NumPy.

    Perspective: block, of any number of warps.
    Shapes:      `index` is any integer that tells the values apart.
    Cost:        as `block.arg_reduce`.
    Test:        tests/lib/block/test_arg.py
    """
    return block.arg_reduce(value, index, best, BEFORE=operators.lower)
