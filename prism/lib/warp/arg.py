"""A warp finds the best of one value of each lane, and where it came from."""

from prism.lang import broadcast, dtype, function, prism, requires, shuffle_down, template, thread, warp
from prism.lib.thread import operators


@prism.device
@requires(thread[32])
@template(T=dtype, I=dtype, BEFORE=function)
def arg_reduce(value: T @ thread[1], index: I @ thread[1], best: T[1] @ thread[32]) -> I @ thread[32]:
    """The index of the value that stands `BEFORE` all others; of equal ones, the least index. The value goes to `best[0]`.

    Perspective: warp.
    Shapes:      `index` is any integer that tells the values apart.
    Cost:        12 shuffles and 10 comparisons; no barrier, no shared memory.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/block/test_arg.py
    """
    found: T @ thread[1] = value
    where: I @ thread[1] = index
    for step in range(5):
        other: T @ thread[1] = shuffle_down(found, 1 << step)
        place: I @ thread[1] = shuffle_down(where, 1 << step)
        better: bool @ thread[1] = BEFORE(other, found) or (not BEFORE(found, other) and place < where)
        found = other if better else found
        where = place if better else where
    best[0] = broadcast(found, 0)
    return broadcast(where, 0)


@prism.device
@requires(thread[32])
@template(T=dtype, I=dtype)
def argmax(value: T @ thread[1], index: I @ thread[1], best: T[1] @ thread[32]) -> I @ thread[32]:
    """The index of the greatest value; of equal ones, the least index. The value goes to `best[0]`. A NaN wins, as in NumPy.

    Perspective: warp.
    Shapes:      `index` is any integer that tells the values apart.
    Cost:        as `warp.arg_reduce`.
    Test:        tests/lib/block/test_arg.py
    """
    return warp.arg_reduce(value, index, best, BEFORE=operators.higher)


@prism.device
@requires(thread[32])
@template(T=dtype, I=dtype)
def argmin(value: T @ thread[1], index: I @ thread[1], best: T[1] @ thread[32]) -> I @ thread[32]:
    """The index of the least value; of equal ones, the least index. The value goes to `best[0]`. A NaN wins, as in NumPy.

    Perspective: warp.
    Shapes:      `index` is any integer that tells the values apart.
    Cost:        as `warp.arg_reduce`.
    Test:        tests/lib/block/test_arg.py
    """
    return warp.arg_reduce(value, index, best, BEFORE=operators.lower)
