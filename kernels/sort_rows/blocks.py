"""Longer rows, each sorted by a block, in its registers and shared memory: one read and one write."""

from prism.lang import (
    atomic_or, attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, popcount, prism, ptr,
    requires, shared, template, thread, uint32,
)
from prism.kernels.sort_rows.elements import ALONE, before, behind_all, bits_of, element_of, key_of, least_zero, pack, place_of
from prism.kernels.sort_rows.segments import BACK, GATHERED, ROWS, SEGMENTS, bounds_of
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, E=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), DESCENDING=constexpr(bool))
def order_zeros(
    x: ptr(const(T)) @ block[1], begin: int64 @ block[1], length: int32 @ block[1], items: E[ITEMS] @ thread[1],
):
    """Give the zeros of a sorted row their signs in the order in which they lie: -0.0 is equal to 0.0."""
    t: int32 @ thread[1] = id()
    signs: shared(uint32[(THREADS * ITEMS + 31) // 32]) @ block[1]  # a bit of each zero
    least: E @ thread[1] = least_zero(T=T, E=E, DESCENDING=DESCENDING)
    less: int32 @ thread[1] = 0
    zero: uint32 @ thread[1] = 0  # of the thread's elements, as they lie, those that are zeros
    later: uint32 @ thread[1] = 0  # and of these those that stand behind the others by their keys
    rank: int32[1] @ thread[1]
    block.fill(signs, 0, (THREADS * ITEMS + 31) // 32)
    with group(thread[1]):
        for k in range(ITEMS):
            less = less + (1 if items[k] < least else 0)
            if t * ITEMS + k < length:
                key: E = key_of(x[begin + (t * ITEMS + k)], U=E, DESCENDING=DESCENDING, TIED=False)
                zero = zero | (uint32(1) << k if key - least <= 1 else uint32(0))
                later = later | (uint32(1) << k if key - least == 1 else uint32(0))
        rank[0] = int32(popcount(zero))
    below: int32 @ block[1] = block.reduce(less, OP=operators.add)
    zeros: int32 @ block[1] = block.scan(rank, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
    with group(thread[1]):
        place: int32 = rank[0]
        for k in range(ITEMS):
            if later >> k & 1 != 0:
                old: uint32 = atomic_or(signs[place // 32], uint32(1) << uint32(place % 32), scope="block")
            place = place + int32(zero >> k & 1)
    with group(thread[1]):
        for k in range(ITEMS):
            place: int32 = t * ITEMS + k - below
            if 0 <= place and place < zeros:
                items[k] = least + E(signs[place // 32] >> uint32(place % 32) & 1)


@prism.kernel
@template(
    T=dtype, U=dtype, E=dtype, V=dtype, I=dtype, O=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    DESCENDING=constexpr(bool), FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool), VALUES=constexpr(bool),
    MODE=constexpr(int), LISTED=constexpr(bool), MIXED=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_rows_by_block(
    x: ptr(const(T)) @ grid[1], values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1],
    moved: ptr(V) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], listed: ptr(const(int32)) @ grid[1],
    listed_many: ptr(const(int32)) @ grid[1], cleared: ptr(int32) @ grid[1], rows: int64 @ grid[1], columns: int64 @ grid[1],
    n: int64 @ grid[1], least: int64 @ grid[1], most: int64 @ grid[1], first_listed: int64 @ grid[1], number: int32 @ grid[1],
):
    """Sort rows of at most `THREADS * ITEMS` elements, each by a block.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `sort_rows_by_lanes`.
    Test:        tests/kernels/test_sort_rows.py
    """
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    total: int64 @ grid[1] = rows
    if LISTED:
        total = int64(listed_many[number])
    with partition(y, thread[1], f=lambda i: i, races="none") as target, \
         partition(positions, thread[1], f=lambda i: i, races="none") as place_target, \
         partition(moved, thread[1], f=lambda i: i, races="none") as value_target, \
         partition(cleared, thread[1], f=lambda i: i, races="none") as words, group(block[1]):
        t: int32 @ thread[1] = id()
        if MODE == SEGMENTS and not LISTED:
            with group(thread[1]):
                if here == 0 and t < 8:
                    words[t] = 0
        for turn in range(here, total, blocks):
            row: int64 @ block[1] = turn
            if LISTED:
                row = int64(listed[first_listed + turn])
            begin: int64 @ block[1] = 0
            length: int64 @ block[1] = 0
            begin, length = bounds_of(
                row, rows, int64(starts[row]) if MODE == SEGMENTS else int64(0),
                int64(ends[row]) if MODE == SEGMENTS else int64(0), columns, n, least, most, MODE=MODE,
            )
            if length > 0:
                size: int32 @ block[1] = int32(length)
                mine: int32 @ thread[1] = size - t  # a thread has elements that are fewer than so many places apart
                items: E[ITEMS] @ thread[1]
                minus: bool @ thread[1] = False
                with group(thread[1]):
                    for k in range(ITEMS):
                        items[k] = behind_all(E=E)
                        if k * THREADS < mine:
                            raw: T = x[begin + (k * THREADS + t)]
                            items[k] = pack(raw, k * THREADS + t, U=U, E=E, DESCENDING=DESCENDING, FORM=FORM)
                            if MIXED:
                                minus = minus or bits_of(raw, U=U) == U(1) << (8 * T.bytes - 1)
                block.sort_network(items, THREADS=THREADS, LESS=before, TOTAL=True)
                if MIXED:
                    some: bool @ block[1] = block.any(minus)
                    if some:
                        order_zeros(x, begin, size, items, THREADS=THREADS, DESCENDING=DESCENDING)
                block.blocked_to_striped(items, THREADS=THREADS)
                with group(thread[1]):
                    for k in range(ITEMS):
                        column: int32 = k * THREADS + t
                        if k * THREADS < mine:
                            if KEYS == BACK:
                                target[begin + column] = element_of(items[k], T=T, DESCENDING=DESCENDING)
                            if FORM != ALONE:
                                place: int64 = int64(place_of(items[k]))
                                if KEYS == GATHERED:
                                    target[begin + column] = x[begin + place]
                                if VALUES:
                                    value_target[begin + column] = values[begin + place]
                                if PLACES:
                                    place_target[begin + column] = I(place)


EXAMPLES = {
    "sort_rows_by_block": {
        "T": "float32", "U": "uint32", "E": "uint32", "V": "float32", "I": "int64", "O": "int64", "ITEMS": 16, "THREADS": 256,
        "BLOCKS": 4, "DESCENDING": False, "FORM": ALONE, "KEYS": BACK, "PLACES": False, "VALUES": False, "MODE": ROWS,
        "LISTED": False, "MIXED": True,
    },
}
