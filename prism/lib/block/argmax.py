"""A block finds the greatest of one value of each thread, and where it came from."""

from prism.lang import block, dtype, prism, requires, template, thread
from prism.lib.thread import operators


@prism("device")
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
