"""Where segments begin in a tile, a bit an element; and scans of a tile that begin anew there.

Of a thread's `ITEMS` elements (at most 32), laid out as `load_tile` does, bit `i` of `flags` tells whether element `i` is the
first of a segment.
"""

from prism.lang import (
    atomic_or, attr, ballot, block, broadcast, claim, clz, const, constexpr, count, dtype, first_set, function, grid, group, id,
    int32, int64, load_vector, partition, popcount, prism, ptr, requires, shared, shuffle_up, split, template, thread, uint32,
    vector, warp, warp_min, warp_sum,
)
from prism.kernels.scan.tiles import place

ROWS, BITS, KEYS = range(3)
"""What tells a kernel where segments begin: a period, a bit an element in memory, or a key that differs from the one before."""


@prism("global")
@template(TI=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
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
                atomic_or(bits[start / 32], uint32(1) << uint32(start % 32))


@prism("device")
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int))
def periodic_flags(first: int32 @ block[1], period: int32 @ block[1]) -> uint32 @ thread[1]:
    """The heads of a tile in which a segment begins at every `first + k * period`.

    Perspective: block. `0 <= first < period`, and `period` is at most 2^30.
    """
    at: int32 @ thread[1] = place(ITEMS=ITEMS, WIDTH=WIDTH)
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


@prism("device")
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int))
def unpack_flags(bits: ptr(const(uint32)) @ grid[1], start: int64 @ block[1], valid: int32 @ block[1]) -> uint32 @ thread[1]:
    """The heads of the tile of `valid` elements that begins at bit `start`, a multiple of 32. `WIDTH` divides 32."""
    at: int32 @ thread[1] = place(ITEMS=ITEMS, WIDTH=WIDTH)
    flags: uint32 @ thread[1] = 0
    with group(thread[1]):
        for j in range(ITEMS // WIDTH):
            p: int32 = at + j * 32 * WIDTH
            word: uint32 = 0
            if p < valid:
                word = bits[start / 32 + p / 32]
            row: uint32 = word >> uint32(p % 32) & (0xFFFFFFFF >> (32 - WIDTH))
            flags = flags | row << (j * WIDTH)
    return flags


@prism("device")
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
    at: int32 @ thread[1] = place(ITEMS=ITEMS, WIDTH=WIDTH)
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


@prism("device")
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool), RUNS=constexpr(bool))
def scan_run(
    items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], identity: T @ thread[32], initial: T @ thread[32]
) -> T @ thread[32]:
    """Scan a warp's run of a tile, in place, beginning anew with `initial` at each head; what is before the first, with nothing.

    Perspective: warp.
    Shapes:      as `load_tile`.
    Returns:     `OP` of all elements from the last head on, or of all of them.
    Numerics:    with `EXCLUSIVE` each element is left out of its own result; with `RUNS`, a head's too is of what is before it:
                 the last result of the segment that ends there.
    Cost:        as `warp.scan`, and a ballot a row; no barrier.
    """
    lane: int32 @ thread[1] = id()
    before: T @ thread[32] = identity
    for j in range(ITEMS // WIDTH):
        row: uint32 @ thread[1] = flags >> (j * WIDTH) & (0xFFFFFFFF >> (32 - WIDTH))
        sum: T @ thread[1] = identity
        with group(thread[1]):
            for k in range(WIDTH):
                sum = OP(initial if (row >> k & 1) != 0 else sum, items[j * WIDTH + k])
        lanes: uint32 @ thread[32] = ballot(row != 0)
        below: uint32 @ thread[1] = lanes & (0xFFFFFFFF >> uint32(31 - lane))
        reach: int32 @ thread[1] = min(lane, int32(clz(below)) - 31 + lane)  # how many lanes below are of its last segment
        for step in range(5):
            other: T @ thread[1] = shuffle_up(sum, 1 << step)
            sum = OP(other, sum) if reach >= 1 << step else sum
        last: T @ thread[1] = shuffle_up(sum, 1)
        with group(thread[1]):
            alone: bool = (lanes & ((uint32(1) << uint32(lane)) - 1)) == 0
            running: T = before if lane == 0 else (OP(before, last) if alone else last)
            for k in range(WIDTH):
                begun: T = initial if (row >> k & 1) != 0 else running
                here: T = OP(begun, items[j * WIDTH + k])
                if RUNS:
                    items[j * WIDTH + k] = running
                else:
                    items[j * WIDTH + k] = begun if EXCLUSIVE else here
                running = here
        total: T @ thread[32] = broadcast(sum, 31)
        before = OP(before, total) if lanes == 0 else total
    return before


@prism("device")
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, RUNS=constexpr(bool))
def begin(items: T[ITEMS] @ thread[1], before: T @ thread[1], at: int32 @ thread[1], first: int32 @ thread[1]):
    """Put `before` in front of the elements before `first`, and with `RUNS` of `first` too; those of this thread begin `at`."""
    for j in range(ITEMS // WIDTH):
        for k in range(WIDTH):
            p: int32 = at + j * 32 * WIDTH + k
            if p < first + (1 if RUNS else 0):
                items[j * WIDTH + k] = OP(before, items[j * WIDTH + k])


@prism("device")
@requires(thread[1])
@template(ITEMS=constexpr(int), WIDTH=constexpr(int))
def first_head(flags: uint32 @ thread[1], at: int32 @ thread[1], otherwise: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where in the tile the first of a thread's heads is."""
    i: int32 = int32(first_set(flags)) - 1
    return otherwise if flags == 0 else at + i / WIDTH * (32 * WIDTH) + i % WIDTH


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool), RUNS=constexpr(bool))
def scan_heads(
    items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], facts: int32[3] @ thread[1], identity: T @ block[1],
    initial: T @ block[1],
) -> T @ block[1]:
    """Scan a tile, in place, beginning anew with `initial` at each head; what is before the first, with nothing.

    Perspective: block, of any number of warps.
    Shapes:      as `load_tile`. `facts` become: where in the tile its first head is, or its number of elements; how many heads
                 there are; and how many of them are in the warps before this thread's.
    Returns:     `OP` of all elements from the last head on, or of all of them.
    Numerics:    as `scan_run`.
    Cost:        a warp's scan, one barrier, and a read of each warp's result.
    """
    tile: int32 @ block[1] = count(thread[1]) * ITEMS
    at: int32 @ thread[1] = place(ITEMS=ITEMS, WIDTH=WIDTH)
    sums: shared(T[32]) @ block[1]
    firsts: shared(int32[32]) @ block[1]
    counts: shared(int32[32]) @ block[1]
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], w) as own_sum, partition(firsts, thread[32], w) as own_first:
        with partition(counts, thread[32], w) as own_count, group(thread[32]):
            open: int32 @ thread[1] = first_head(flags, at, tile, ITEMS=ITEMS, WIDTH=WIDTH)
            first: int32 @ thread[32] = warp_min(open)
            number: int32 @ thread[32] = warp_sum(int32(popcount(flags)))
            sum: T @ thread[32] = scan_run(items, flags, identity, initial, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE, RUNS=RUNS)
            with claim(own_sum, thread[1]) as a, claim(own_first, thread[1]) as b, claim(own_count, thread[1]) as c:
                match split(thread):
                    case 1:
                        a[0] = sum
                        b[0] = first
                        c[0] = number
    before: T @ thread[32] = identity
    mine: int32 @ thread[32] = tile
    heads_before: int32 @ thread[32] = 0
    total: T @ block[1] = identity
    nearest: int32 @ block[1] = tile
    total_heads: int32 @ block[1] = 0
    for v in range(count(warp[1])):
        before = total if v == w else before
        mine = firsts[v] if v == w else mine
        heads_before = total_heads if v == w else heads_before
        total = OP(total, sums[v]) if firsts[v] == tile else sums[v]
        nearest = min(nearest, firsts[v])
        total_heads = total_heads + counts[v]
    with group(thread[1]):
        facts[0] = nearest
        facts[1] = total_heads
        facts[2] = heads_before
        begin(items, before, at, mine, WIDTH=WIDTH, OP=OP, RUNS=RUNS)
    return total
