"""Several rows sorted by digits at once: what passes over all of them must know of each."""

from prism.lang import (
    atomic_or, block, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, split, template, thread,
    uint32,
)
from prism.lib.thread import operators


@prism.kernel
@template(C=dtype, PASSES=constexpr(int))
@requires(grid[1], block[1], thread[256])
def begin_rows(counts: ptr(C) @ grid[1], moved: ptr(uint32) @ grid[1], n: int64 @ grid[1], even: uint32 @ grid[1]):
    """Make of how often each digit occurs in a row where elements of that digit begin, in an array of all rows.

    Perspective: grid, of a block of 256 threads a row.
    Shapes:      `counts`: of `count_digits`, 256 for each of `PASSES` digits, of each row. `moved`: one word, 0 before; then the
                 passes, as bits, in which the digits of some row differ, and `even` as bit 31: whether an even number of passes
                 must move elements, of an even number of passes. `n`: how many elements a row has; `C` holds twice as many as
                 there are in all.
    Test:        tests/kernels/test_sort_digit_rows.py
    """
    row: int32 @ block[1] = id()
    with partition(counts, block[1], offset=int64(row) * (256 * PASSES)) as every, group(block[1]):
        t: int32 @ thread[1] = id()
        differ: uint32 @ thread[1] = 0
        begins: C[1] @ thread[1]
        with partition(every, thread[1], offset=t) as own:
            for p in range(PASSES):
                with group(thread[1]):
                    begins[0] = own[p * 256]
                    if begins[0] != 0 and int64(begins[0]) != n:
                        differ = differ | uint32(1) << p
                block.scan(begins, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
                with group(thread[1]):
                    own[p * 256] = C(row * n) + begins[0]
        all: uint32 @ block[1] = block.reduce(differ, OP=operators.bitwise_or)
        match split(thread):
            case 1:
                atomic_or(moved[0], all | even << 31)


EXAMPLES = {"begin_rows": {"C": "uint32", "PASSES": 4}}
