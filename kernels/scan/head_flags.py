"""Where segments begin in a tile, a bit an element: what `block.scan_heads` takes.

Of a thread's `ITEMS` elements (at most 32), laid out as `block.load_tile` does, bit `i` of `flags` tells whether element `i` is
the first of a segment.
"""

from prism.lang import (
    atomic_or, attr, block, broadcast, const, constexpr, count, dtype, grid, group, id, int32, int64, load_vector, prism, ptr,
    requires, shuffle_up, template, thread, uint32, vector,
)

ROWS, BITS, KEYS = range(3)
"""What tells a kernel where segments begin: a period, a bit an element in memory, or a key that differs from the one before."""


@prism.kernel
@template(TI=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def mark(starts: ptr(const(TI)) @ grid[1], segments: int64 @ grid[1], bits: ptr(uint32) @ grid[1], n: int64 @ grid[1]):
    """Set bit `starts[s]` of `bits`, for each of the `segments`, where it is in 0 ... n - 1; nothing for other numbers.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `starts`: `segments` int32 or int64; `bits`: `ceil(n / 32)` words, zero before.
    Test:        tests/kernels/test_segmented_scan.py
    """
    threads: int64 @ grid[1] = int64(count(block[1])) * THREADS
    me: int64 @ thread[1] = id()
    with group(thread[1]):
        for s in range(me, segments, threads):
            start: int64 = int64(starts[s])
            if start >= 0 and start < n:
                atomic_or(bits[start // 32], uint32(1) << uint32(start % 32))


@prism.device
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int))
def periodic_flags(first: int32 @ block[1], period: int32 @ block[1]) -> uint32 @ thread[1]:
    """The heads of a tile in which a segment begins at every `first + k * period`.

    Perspective: block. `0 <= first < period`, and `period` is at most 2^30.
    """
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    flags: uint32 @ thread[1] = 0
    with group(thread[1]):
        behind: int32 = (at + (period - first)) % period  # how far behind the head of its segment an element is
        step: int32 = 32 * WIDTH % period
        for j in range(ITEMS // WIDTH):
            here: int32 = behind
            for k in range(WIDTH):
                if here == 0:
                    flags = flags | uint32(1) << (j * WIDTH + k)
                here = 0 if here + 1 == period else here + 1
            behind = behind + step - (period if behind + step >= period else 0)
    return flags


@prism.device
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int))
def unpack_flags(bits: ptr(const(uint32)) @ grid[1], start: int64 @ block[1], valid: int32 @ block[1]) -> uint32 @ thread[1]:
    """The heads of the tile of `valid` elements that begins at bit `start`, a multiple of 32. `WIDTH` divides 32."""
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    flags: uint32 @ thread[1] = 0
    with group(thread[1]):
        for j in range(ITEMS // WIDTH):
            p: int32 = at + j * 32 * WIDTH
            word: uint32 = 0
            if p < valid:
                word = bits[start // 32 + p // 32]
            row: uint32 = word >> uint32(p % 32) & (0xFFFFFFFF >> (32 - WIDTH))
            flags = flags | row << (j * WIDTH)
    return flags


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), KEYED=constexpr(int))
def key_flags(
    keys: ptr(const(K)) @ grid[1], start: int64 @ block[1], valid: int32 @ block[1], end: int32 @ block[1]
) -> uint32 @ thread[1]:
    """The heads of the tile of `valid` keys that begins at `keys[start]`: where a key is not equal to the one before.

    Element `end` is a head as well, if it is in the tile. Keys are read in vectors of `KEYED`, a divisor of `WIDTH`, to which
    `keys[start]` must be aligned; each is read once.
    """
    ONCE: constexpr(int) = ITEMS if WIDTH <= 4 else WIDTH  # keys asked for at once: of small values, a thread has too many
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    lane: int32 @ thread[1] = id() % 32
    flags: uint32 @ thread[1] = 0
    edge: K @ thread[1] = K(0)  # what is before the row, in lane 0
    with group(thread[1]):
        if lane == 0 and at <= valid and start + at > 0:
            edge = keys[start + at - 1]
    for first in range(0, ITEMS // WIDTH, ONCE // WIDTH):
        labels: K[ONCE] @ thread[1]
        with group(thread[1]):
            for j in range(ONCE // WIDTH):
                p: int32 = at + (first + j) * 32 * WIDTH
                if KEYED > 1 and p + WIDTH <= valid:
                    for k in range(0, WIDTH, KEYED):
                        word: vector(K, KEYED) = load_vector(keys[start + p + k], KEYED)
                        for i in range(KEYED):
                            labels[j * WIDTH + k + i] = word[i]
                else:
                    for k in range(WIDTH):
                        labels[j * WIDTH + k] = keys[start + p + k] if p + k < valid else K(0)
        with group(thread[32]):
            for j in range(ONCE // WIDTH):
                last: K @ thread[1] = labels[j * WIDTH + WIDTH - 1]
                below: K @ thread[1] = shuffle_up(last, 1)
                top: K @ thread[32] = broadcast(last, 31)
                with group(thread[1]):
                    before: K = edge if lane == 0 else below
                    row: uint32 = 0
                    for k in range(WIDTH):
                        if labels[j * WIDTH + k] != before:
                            row = row | uint32(1) << k
                        before = labels[j * WIDTH + k]
                    here: int32 = at + (first + j) * 32 * WIDTH
                    left: int32 = min(max(valid - here, 0), WIDTH)
                    row = row & ((uint32(1) << uint32(left)) - 1 if left < 32 else 0xFFFFFFFF)
                    if end >= here and end - here < WIDTH:
                        row = row | uint32(1) << uint32(end - here)
                    flags = flags | row << ((first + j) * WIDTH)
                    edge = top
    return flags | (1 if start + at == 0 and valid > 0 else 0)
