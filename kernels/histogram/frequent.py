"""Bins of which there are too many for shared memory: a block counts the frequent ones there, and adds others in memory at once.

Equal elements that all threads add to one place in memory wait for each other. So each block keeps some bins that it has met in
its first tile, each at the one slot that a bin may have: of those that meet at a slot the last that came, a frequent one, as a
rule.
"""

from prism.lang import (
    atomic_add, atomic_exchange, block, const, constexpr, count, dtype, grid, group, id, int32, prism, ptr, requires,
    static_assert, template, thread, uint32,
)


@prism.device
@requires(thread[1])
@template(SLOTS=constexpr(int))
def slot_of(b: int32 @ thread[1]) -> int32 @ thread[1]:
    """The slot that a bin may have, of a power of two: neighbours are spread, and so are multiples of one."""
    static_assert(SLOTS & -SLOTS == SLOTS and SLOTS > 1, "there are 2^k slots")
    return int32(uint32(b) * 2654435769 >> 16 & uint32(SLOTS - 1))


@prism.device
@requires(block[1], thread[1])
@template(ITEMS=constexpr(int), SLOTS=constexpr(int))
def choose_frequent(items: int32[ITEMS] @ thread[1], keys: ptr(int32) @ block[1], size: int32 @ block[1]):
    """Put at each slot one of the block's items that may have it, of those below `size`, where there is one.

    Perspective: block, of any number of threads.
    Shapes:      `keys`: `SLOTS`, at most 2^16.
    Cost:        `ITEMS` atomic exchanges a thread; no barrier.
    Test:        tests/kernels/test_histogram.py
    """
    with group(thread[1]):
        for k in range(ITEMS):
            if items[k] < size:
                atomic_exchange(keys[slot_of(items[k], SLOTS=SLOTS)], items[k], scope="block")


@prism.device
@requires(block[1], thread[1])
@template(S=dtype, ITEMS=constexpr(int), SLOTS=constexpr(int))
def count_frequent(
    items: int32[ITEMS] @ thread[1], keys: ptr(const(int32)) @ block[1], often: ptr(uint32) @ block[1],
    counts: ptr(S) @ grid[1], size: int32 @ block[1],
):
    """Count each item below `size` in `often`, where its slot is its own, else in `counts[item]`.

    Perspective: block, of any number of threads.
    Shapes:      `keys`, `often`: `SLOTS`, as `choose_frequent` chose them.
    Cost:        `ITEMS` reads of shared memory and as many atomic additions a thread; no barrier.
    Test:        tests/kernels/test_histogram.py
    """
    with group(thread[1]):
        for k in range(ITEMS):
            slot: int32 = slot_of(items[k], SLOTS=SLOTS)
            if keys[slot] == items[k]:
                atomic_add(often[slot], 1, scope="block")
            elif items[k] < size:
                atomic_add(counts[items[k]], S(1))


@prism.device
@requires(block[1], thread[1])
@template(S=dtype, SLOTS=constexpr(int))
def add_frequent(keys: ptr(const(int32)) @ block[1], often: ptr(const(uint32)) @ block[1], counts: ptr(S) @ grid[1]):
    """Add to `counts` what the block has counted in `often`.

    Perspective: block, of any number of threads.
    Shapes:      as of `count_frequent`.
    Cost:        `SLOTS / threads` reads a thread, and an atomic addition for each that is not 0; no barrier.
    Test:        tests/kernels/test_histogram.py
    """
    t: int32 @ thread[1] = id()
    threads: int32 @ block[1] = count(thread[1])
    with group(thread[1]):
        for slot in range(t, SLOTS, threads):
            if often[slot] != 0:
                atomic_add(counts[keys[slot]], S(often[slot]))
