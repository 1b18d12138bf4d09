"""A warp finds the least of one value of each lane, and where it came from."""

from prism.lang import dtype, prism, requires, template, thread, warp
from prism.lib.thread import operators


@prism("device")
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
