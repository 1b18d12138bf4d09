"""How often each number of 16 bits occurs: a block counts in shared memory, two numbers in a word."""

from prism.lang import (
    atomic_add, attr, ballot, block, broadcast, const, constexpr, count, dtype, grid, group, id, int32, int64, partition,
    popcount, prism, ptr, requires, shared, template, thread, uint16, uint32, warp, wrapping_subtract,
)
from prism.lib.thread import extent, operators

_HALF = 1 << 16
_PAIRS = 1 << 15


@prism.kernel
@template(C=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def count_keys(
    x: ptr(const(uint16)) @ grid[1], counts: ptr(C) @ grid[1], parts: ptr(uint32) @ grid[1], n: int64 @ grid[1],
    skew: int32 @ grid[1],
):
    """Count how often each 16 bits are an element of `x`, of `n`: `counts` and what `parts` has of all blocks, together.

    Bits, and no keys: those of 65536 counts are put in order afterwards, where making a key of each float took as long as half
    of an addition.

    A block counts in shared memory, two keys in a word, and looks at no result: whether a half of a word has gone over, the sum
    of all halves tells, as then it is less than what was counted. If it has, or the block's first tile says that it may, each
    addition looks at what it does, and what goes beyond 16 bits is added to `counts` at once.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `counts`: 65536, which begin as zero. `parts`: 32768 words a block, of two numbers each. `skew`: how many
                 elements `x` begins past one that is aligned to `WIDTH` of them; -1: it is not known.
    Test:        tests/kernels/test_sort_fill.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with partition(parts, block[1], offset=int64(me) * _PAIRS) as part, group(block[1]):
        t: int32 @ thread[1] = id()
        at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
        bins: shared(uint32[_PAIRS])
        keys: uint16[ITEMS] @ thread[1]
        ahead: uint16[ITEMS] @ thread[1]  # of the block's next tile: its loads are under way while this one is counted

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1]):
            """Load what is to be counted next."""
            with partition(x, block[1], offset=int64(tile) * TILE) as source:
                block.load_tile(
                    source, ahead, extent(tile, n, TILE=TILE), 0, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False,
                )

        @requires(block[1], thread["THREADS"])
        def count_tiles(first: int32 @ block[1], last: int32 @ block[1], slowly: bool @ block[1]):
            """Count the block's tiles from `first` on, before `last`; `slowly`: each addition looks at what it does."""
            if first < last:
                load(first)
            for tile in range(first, last, blocks):
                many: int32 @ block[1] = extent(tile, n, TILE=TILE)
                for k in range(ITEMS):
                    keys[k] = ahead[k]
                if tile + blocks < last:
                    load(tile + blocks)
                if many < TILE:
                    with partition(bins, thread[1], 0, races="none") as pairs, group(thread[1]):
                        for k in range(ITEMS):
                            if at + (k // WIDTH * 32 * WIDTH + k % WIDTH) < many:
                                add_some(pairs, counts, int32(keys[k]), 1, slowly)
                else:
                    count_rows(keys, bins, counts, slowly)

        @requires(block[1], thread["THREADS"])
        def is_full() -> bool @ block[1]:
            """Whether a key is so common in the block's first tile that a half of a word may go over."""
            most: uint32 @ thread[1] = 0
            with group(thread[1]):
                for pair in range(t, _PAIRS, THREADS):
                    most = max(most, max(bins[pair] >> 16, bins[pair] & (_HALF - 1)))
            often: int64 @ block[1] = int64(block.reduce(most, OP=operators.maximum))
            return often * ((tiles - me) // blocks + 1) >= _HALF // 2

        @requires(block[1], thread["THREADS"])
        def is_whole() -> bool @ block[1]:
            """Whether all halves together are as many as the block has counted: one that goes over takes 65535 or 65536 away."""
            found: uint32 @ thread[1] = 0
            with group(thread[1]):
                for pair in range(t, _PAIRS, THREADS):
                    found = found + (bins[pair] >> 16) + (bins[pair] & (_HALF - 1))
            sum: uint32 @ block[1] = block.reduce(found, OP=operators.add)
            mine: int64 @ block[1] = int64((tiles - me + (blocks - 1)) // blocks) * TILE
            if me == (tiles - 1) % blocks:  # its last tile is that of the array
                mine = mine - (int64(tiles) * TILE - n)
            return int64(sum) == mine

        first: int32 @ block[1] = me
        last: int32 @ block[1] = min(me + blocks, tiles)  # one tile, to see whether a key is common
        slowly: bool @ block[1] = False
        block.fill(bins, 0, _PAIRS)
        for part in range(3):
            count_tiles(first, last, slowly)
            first = last
            last = tiles
            if part == 0:
                slowly = is_full()
            else:
                if slowly:
                    break
                whole: bool @ block[1] = is_whole()
                if whole:
                    break
                block.fill(bins, 0, _PAIRS)  # a half has gone over: once more
                first = me
                slowly = True
        with partition(part, thread[1], offset=t) as own, group(thread[1]):
            for pair in range(0, _PAIRS - t, THREADS):
                own[pair] = bins[slot(t + pair)]


@prism.device
@requires(block[1], thread[32])
@template(C=dtype, ITEMS=constexpr(int))
def count_rows(
    keys: uint16[ITEMS] @ thread[1], bins: ptr(uint32) @ block[1], counts: ptr(C) @ grid[1], careful: bool @ block[1],
):
    """Count the keys of a whole tile; where one seems to occur very often, a warp adds its own up first.

    `careful`: as `add_key` counts; else what goes beyond 16 bits is lost.
    Additions to one place come one after the other. Sorted arrays, and such with a number that is common, have many of them.
    """
    FEW: constexpr(int) = 4  # of equal keys in a row of 32, at least as fast one by one
    common: int32 @ thread[32] = 0
    most: int32 @ thread[32] = FEW
    with group(thread[32]):
        for c in range(4):
            one: int32 @ thread[32] = broadcast(int32(keys[0]), 8 * c)
            votes: int32 @ thread[32] = int32(popcount(ballot(int32(keys[0]) == one)))
            if votes > most:
                common = one
                most = votes
    with partition(bins, thread[1], 0, races="none") as pairs:
        with group(thread[32]):
            if most > FEW:
                own: int32 @ thread[1] = 0
                with group(thread[1]):
                    for k in range(ITEMS):
                        if int32(keys[k]) == common:
                            own = own + 1
                        else:
                            add_some(pairs, counts, int32(keys[k]), 1, careful)
                lane: int32 @ thread[1] = id()
                sum: int32 @ thread[1] = warp.reduce_to_first(own, OP=operators.add, FEW=False, TENSOR=False)
                with group(thread[1]):
                    if lane == 0:
                        add_some(pairs, counts, common, sum, careful)
            elif careful:
                with group(thread[1]):
                    for k in range(ITEMS):
                        add_key(pairs, counts, int32(keys[k]), 1)
            else:
                with group(thread[1]):
                    for k in range(ITEMS):
                        key: int32 = int32(keys[k])
                        atomic_add(pairs[slot(key >> 1)], 1 + uint32(key & 1) * (_HALF - 1), scope="block")


@prism.device
@requires(thread[1])
def slot(pair: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where a word is: numbers with many low zeros, as small integers of float16 have, are in several banks."""
    return pair ^ (pair >> 5 & 31)


@prism.device
@requires(thread[1])
@template(C=dtype)
def add_some(
    bins: ptr(uint32) @ thread[1], counts: ptr(C) @ grid[1], key: int32 @ thread[1], many: int32 @ thread[1],
    careful: bool @ thread[1],
):
    """Add to the 16 bits of a key; `careful`: as `add_key` does, which asks for what was there, and takes twice as long."""
    if careful:
        add_key(bins, counts, key, many)
    else:
        atomic_add(bins[slot(key >> 1)], uint32(many) << 16 * (key & 1), scope="block")


@prism.device
@requires(thread[1])
@template(C=dtype)
def add_key(bins: ptr(uint32) @ thread[1], counts: ptr(C) @ grid[1], key: int32 @ thread[1], many: int32 @ thread[1]):
    """Add to the 16 bits of a key, and to `counts` what they have no room for: 65536 at a time.

    Where the lower half of a word goes over, one is added to the upper half, which is taken away again. In between others may add
    to it. So each addition looks at what it does to both halves: all that is lost or won is made good, whatever comes between.
    """
    shift: int32 = 16 * (key & 1)
    before: uint32 = atomic_add(bins[slot(key >> 1)], uint32(many) << shift, scope="block")
    upper: uint32 = before >> 16
    if (before >> shift & (_HALF - 1)) + uint32(many) >= _HALF:
        atomic_add(counts[key], C(_HALF))
        if shift == 0:
            if upper == _HALF - 1:
                atomic_add(counts[key + 1], C(_HALF))
            above: uint32 = atomic_add(bins[slot(key >> 1)], uint32(0xFFFF0000), scope="block")
            if above >> 16 == 0:
                atomic_add(counts[key + 1], wrapping_subtract(C(0), C(_HALF)))


@prism.kernel
@template(C=dtype, THREADS=constexpr(int), SHARES=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
def add_keys(parts: ptr(const(uint32)) @ grid[1], counts: ptr(C) @ grid[1], many: int32 @ grid[1]):
    """Add to `counts` what `many` blocks of `count_keys` have counted.

    Perspective: grid, a block for each `THREADS // SHARES` words: its threads each add up a share of what blocks have counted.
    Test:        tests/kernels/test_sort_fill.py
    """
    EACH: constexpr(int) = THREADS // SHARES
    b: int32 @ block[1] = id()
    with partition(counts, block[1], offset=b * (2 * EACH)) as part, group(block[1]):
        t: int32 @ thread[1] = id()
        lower: C @ thread[1] = 0
        upper: C @ thread[1] = 0
        with group(thread[1]):
            for v in range(t // EACH, many, SHARES, unroll=8):
                word: uint32 = parts[int64(v) * _PAIRS + (b * EACH + t % EACH)]
                lower = lower + C(word & (_HALF - 1))
                upper = upper + C(word >> 16)
        lower = block.reduce_apart(lower, OP=operators.add, APART=EACH, TEAM=THREADS, THREADS=THREADS)
        upper = block.reduce_apart(upper, OP=operators.add, APART=EACH, TEAM=THREADS, THREADS=THREADS)
        with partition(part, thread[1], offset=2 * t) as own, group(thread[1]):
            if t < EACH:
                own[0] = own[0] + lower
                own[1] = own[1] + upper


EXAMPLES = {
    "count_keys": {"C": "uint32", "THREADS": 1024, "ITEMS": 16, "WIDTH": 8},
    "add_keys": {"C": "uint32", "THREADS": 512, "SHARES": 4},
}
