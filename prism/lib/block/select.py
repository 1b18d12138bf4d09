"""A block finds the element of some rank, without sorting."""

from prism.lang import (
    atomic_add, block, constexpr, count, dtype, function, group, id, int32, int64, partition, prism, requires, shared,
    static_assert, template, thread, uint32,
)
from prism.lib.thread import operators


@prism("device")
@requires(block[1], thread[32])
@template(U=dtype, KEY=function, COUNTS=function, BITS=constexpr(int), THREADS=constexpr(int))
def select_rank(n: int64 @ block[1], rank: int64 @ block[1]) -> (U, int64, int64) @ block[1]:
    """The key of rank `rank`, from 0 on, of elements `0 ... n - 1`; how many keys are less, and how many are equal to it.

    Digits of 8 bits are counted from the highest on, of the elements whose digits so far are those of the key that is looked for.

    Perspective: block, of `THREADS` threads, at least 256.
    Shapes:      `KEY(i)` gives element `i`'s key, an unsigned integer `U` below `2^BITS`, and `COUNTS(i)` whether it is one of
                 those that are ranked: functions of a thread, of an int64. Of the ranked ones there are more than `rank`, and
                 fewer than 2^32. `BITS`: a multiple of 8.
    Cost:        of each 8 bits, `n / THREADS` calls of both functions a thread, as many atomic additions in shared memory at most,
                 and five barriers; 291 words of shared memory.
    Source:      Alabi, Blanchard et al., "Fast k-selection algorithms for graphics processing units".
    Test:        tests/lib/block/test_select.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(THREADS >= 256, "a block has a thread for each digit")
    static_assert(BITS % 8 == 0 and BITS <= 8 * U.bytes, "a key has whole digits")
    t: int32 @ thread[1] = id()
    bins: shared(uint32[256]) @ block[1]
    found: shared(uint32[3]) @ block[1]
    prefix: U @ block[1] = 0
    below: int64 @ block[1] = 0
    equal: int64 @ block[1] = n
    for step in range(BITS // 8, unroll=False):
        shift: U @ block[1] = U(BITS - 8 - 8 * step)
        block.fill(bins, 0, 256)
        with group(thread[1]):
            for i in range(int64(t), n, THREADS):
                if COUNTS(i):
                    key: U = KEY(i)
                    if key >> shift >> U(8) == prefix:
                        atomic_add(bins[int32(key >> shift & U(255))], 1, scope="block")
        before: uint32[1] @ thread[1]
        number: uint32 @ thread[1] = bins[t] if t < 256 else uint32(0)
        before[0] = number
        block.scan(before, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
        left: int64 @ block[1] = rank - below
        with partition(found, thread[1], offset=0, races="none") as cell, group(thread[1]):  # one thread alone writes
            if int64(before[0]) <= left < int64(before[0]) + int64(number):
                cell[0] = uint32(t)
                cell[1] = before[0]
                cell[2] = number
        prefix = prefix << U(8) | U(found[0])
        below = below + int64(found[1])
        equal = int64(found[2])
    return prefix, below, equal
