"""An even number of passes, so that a sort may begin and end in the same memory: passes write two arrays in turn."""

from prism.lang import (
    block, constexpr, dtype, first_set, grid, group, id, int32, int64, partition, popcount, prism, ptr, requires, static_assert,
    template, thread, uint32,
)
from prism.lib.thread import operators


@prism.kernel
@template(C=dtype, PASSES=constexpr(int))
@requires(grid[1], block[1], thread[256])
def pass_evenly(counts: ptr(C) @ grid[1], n: int64 @ grid[1]):
    """Change counts of digits that all elements share, so that an even number of passes moves elements.

    Where it was odd, a digit that all share is counted once too seldom: its pass is not passed over. Where all digits are shared,
    two are. Nothing else goes by these counts: where the digit begins follows from what stands before it, which is nothing.

    Perspective: grid, of one block of 256 threads.
    Shapes:      `counts`: of `count_digits`, 256 for each of `PASSES` digits, an even number. `n`: how many elements there are.
    Test:        tests/kernels/test_sort.py
    """
    static_assert(PASSES % 2 == 0, "keys of one byte take one pass")
    ALL: constexpr(int) = (1 << PASSES) - 1
    with partition(counts, block[1]) as every, group(block[1]):
        t: int32 @ thread[1] = id()
        mine: uint32 @ thread[1] = 0  # the passes whose digit `t` all elements have
        with partition(every, thread[1], offset=t) as own, group(thread[1]):
            for p in range(PASSES):
                mine = mine | uint32(1 if int64(own[p * 256]) == n else 0) << p
        passed: uint32 @ block[1] = block.reduce(mine, OP=operators.bitwise_or)
        if passed == ALL or popcount(passed) % 2 == 1:
            first: uint32 @ block[1] = uint32(1) << first_set(passed) - 1
            changed: uint32 @ block[1] = first | first << 1 if passed == ALL else first
            with partition(every, thread[1], offset=t) as own, group(thread[1]):
                for p in range(PASSES):
                    if (mine & changed) >> p & 1 != 0:
                        own[p * 256] = own[p * 256] - 1


EXAMPLES = {"pass_evenly": {"C": "uint32", "PASSES": 4}}
