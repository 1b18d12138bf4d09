"""Sorting keys of 8 or 16 bits that nothing goes along with: each key is counted, and then written as often as it occurs."""

from prism.lang import (
    atomic_add, attr, ballot, block, broadcast, const, constexpr, count, dtype, grid, group, id, int32, int64, mailbox,
    partition, popcount, prism, ptr, requires, shared, store_vector, template, thread, uint16, uint32, uint64,
    vector, warp, wrapping_subtract,
)
from prism.kernels.sort.order import INTEGER, decode, encode, lower_zero
from prism.lib.thread import extent, operators

_HALF = 1 << 16
_PAIRS = 1 << 15
_FEW = 4
_SIDE = 4
"""Tiles that a block fills side by side. Where keys are rare they take longer: they are dealt out."""


@prism.kernel
@template(C=dtype, KIND=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def count_keys(
    x: ptr(const(uint16)) @ grid[1], counts: ptr(C) @ grid[1], parts: ptr(uint32) @ grid[1], n: int64 @ grid[1],
    skew: int32 @ grid[1], flip: uint16 @ grid[1], lowest: uint16 @ grid[1],
):
    """Count how many of the `n` elements of `x` have each key: `counts` and what `parts` has of all blocks, together.

    A block counts in shared memory, two keys in a word, and looks at no result: whether a half of a word has gone over, the sum
    of all halves tells, as then it is less than what was counted. If it has, or the block's first tile says that it may, each
    addition looks at what it does, and what goes beyond 16 bits is added to `counts` at once.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`: bits of numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`. `counts`: 65536,
                 which begin as zero. `parts`: 32768 words a block, of two keys each. `skew`: how many elements `x` begins past
                 one that is aligned to `WIDTH` of them; -1: it is not known.
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
                    keys[k] = encode(ahead[k], flip, lowest, KIND=KIND)
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
            else:
                with group(thread[1]):
                    for k in range(ITEMS):
                        add_some(pairs, counts, int32(keys[k]), 1, careful)


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


@prism.kernel
@template(C=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
def begin_keys(counts: ptr(const(C)) @ grid[1], starts: ptr(C) @ grid[1]):
    """`starts[k]` becomes the sum of `counts[0] ... counts[k - 1]`.

    Perspective: grid, a block for each `THREADS` counts: it adds up all that are before.
    Test:        tests/kernels/test_sort_fill.py
    """
    b: int32 @ block[1] = id()
    with partition(starts, block[1], offset=b * THREADS) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        sum: C @ thread[1] = 0
        with group(thread[1]):
            for i in range(t, b * THREADS, 4 * THREADS):
                for k in range(4):  # that many loads are under way at once
                    sum = sum + (counts[i + k * THREADS] if i + k * THREADS < b * THREADS else 0)
        before: C @ block[1] = block.reduce(sum, OP=operators.add)
        own: C[1] @ thread[1]
        own[0] = counts[b * THREADS + t]
        block.scan_initial(own, before, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
        block.store(mine, own, THREADS, WIDTH=1, VECTORIZED=False)


@prism.kernel
@template(
    K=dtype, C=dtype, KIND=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, 6)")
def fill_keys(
    starts: ptr(const(C)) @ grid[1], y: ptr(K) @ grid[1], n: int64 @ grid[1], aligned: bool @ grid[1], flip: K @ grid[1],
    lowest: K @ grid[1],
):
    """`y` becomes `n` numbers in order: those of key `k` from `starts[k]` on.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `starts`: of each key of `K`, at most `n`. `flip`, `lowest`: see `prism.kernels.sort.order`.
    Errors:      if `aligned`, `y` must be, to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/kernels/test_sort_fill.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    KEYS: constexpr(int) = 1 << 8 * K.bytes
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with partition(y, block[1], races="none") as part, group(block[1]):
        first: int32 @ block[1] = 0
        for turn in range(_SIDE * me, tiles, _SIDE * blocks):
            first = key_at(starts, 0, KEYS, int64(turn) * TILE)
            for tile in range(turn, min(turn + _SIDE, tiles)):
                begin: int64 @ block[1] = int64(tile) * TILE
                many: int32 @ block[1] = extent(tile, n, TILE=TILE)
                first = key_near(starts, first, KEYS, begin)
                last: int32 @ block[1] = key_near(starts, first, KEYS, begin + (many - 1))
                with partition(part, block[1], offset=begin, races="none") as out:
                    if last - first <= _FEW:
                        fill_few(
                            starts, out, first, last, begin, many, aligned, flip, lowest, KIND=KIND, THREADS=THREADS, ITEMS=ITEMS,
                            WIDTH=WIDTH,
                        )
                    else:
                        fill_many(
                            starts, out, first, last, begin, many, aligned, flip, lowest, KIND=KIND, THREADS=THREADS, ITEMS=ITEMS,
                            WIDTH=WIDTH,
                        )
                first = last


@prism.device
@requires(block[1], thread["THREADS"])
@template(
    K=dtype, C=dtype, KIND=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
)
def fill_few(
    starts: ptr(const(C)) @ grid[1], out: ptr(K) @ block[1], first: int32 @ block[1], last: int32 @ block[1],
    begin: int64 @ block[1], many: int32 @ block[1], aligned: bool @ grid[1], flip: K @ grid[1], lowest: K @ grid[1],
):
    """Write the tile of `many` numbers from `begin` on, of keys `first ... last`, at most `_FEW` and one.

    Where keys begin is compared with a vector's place: of few, that is faster than what `fill_many` does.
    """
    TILE: constexpr(int) = THREADS * ITEMS
    t: int32 @ thread[1] = id()
    with partition(out, thread[1], offset=lambda i: i, races="none") as own, group(thread[1]):
        changes: int32[_FEW]
        for j in range(_FEW):
            changes[j] = int32(int64(starts[first + 1 + j]) - begin) if j < last - first else TILE
        for j in range(ITEMS // WIDTH):
            here: int32 = (t + j * THREADS) * WIDTH
            if here < many:
                end: int32 = min(here + WIDTH, many)
                key: int32 = first
                top: int32 = first
                for k in range(_FEW):
                    key = key + (1 if changes[k] <= here else 0)
                    top = top + (1 if changes[k] < end else 0)
                items: K[WIDTH]
                number: K = decode(K(key), flip, lowest, KIND=KIND)
                for k in range(WIDTH):
                    items[k] = number
                if key != top:
                    for k in range(WIDTH):
                        found: int32 = first
                        for i in range(_FEW):
                            found = found + (1 if changes[i] <= min(here + k, end - 1) else 0)
                        items[k] = decode(K(found), flip, lowest, KIND=KIND)
                write_vector(own, items, here, end, aligned)


@prism.device
@requires(block[1], thread["THREADS"])
@template(
    K=dtype, C=dtype, KIND=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
)
def fill_many(
    starts: ptr(const(C)) @ grid[1], out: ptr(K) @ block[1], first: int32 @ block[1], last: int32 @ block[1],
    begin: int64 @ block[1], many: int32 @ block[1], aligned: bool @ grid[1], flip: K @ grid[1], lowest: K @ grid[1],
):
    """Write the tile of `many` numbers from `begin` on, of keys `first ... last`, however many these are.

    Each key is put where it begins in the tile, and what is behind it takes the largest one before.
    """
    TILE: constexpr(int) = THREADS * ITEMS
    t: int32 @ thread[1] = id()
    marks: shared(K[TILE])  # the key that begins at a place, above `first`; 0: none
    block.fill(marks, 0, TILE)
    with partition(marks, thread[1], offset=lambda i: i, races="none") as spot, group(thread[1]):
        for key in range(first + 1 + t, last + 1, THREADS):
            if key == last or starts[key] < starts[key + 1]:
                spot[int32(int64(starts[key]) - begin)] = K(key - first)
    before: int32 @ block[1] = 0
    with partition(out, thread[1], offset=lambda i: i, races="none") as own:
        for j in range(ITEMS // WIDTH):
            here: int32 @ thread[1] = (t + j * THREADS) * WIDTH
            found: int32[WIDTH] @ thread[1]
            largest: int32[1] @ thread[1]
            largest[0] = 0
            for k in range(WIDTH):
                largest[0] = max(largest[0], int32(marks[here + k]))
                found[k] = largest[0]
            all: int32 @ block[1] = block.scan(largest, 0, WIDTH=1, OP=operators.maximum, EXCLUSIVE=True)
            with group(thread[1]):
                items: K[WIDTH]
                for k in range(WIDTH):
                    items[k] = decode(K(first + max(found[k], max(largest[0], before))), flip, lowest, KIND=KIND)
                if here < many:
                    write_vector(own, items, here, min(here + WIDTH, many), aligned)
            before = max(before, all)


@prism.device
@requires(thread[1])
@template(K=dtype, WIDTH=constexpr(int))
def write_vector(
    out: ptr(K) @ thread[1], items: K[WIDTH] @ thread[1], here: int32 @ thread[1], end: int32 @ thread[1],
    aligned: bool @ thread[1],
):
    """Write `out[here] ... out[end - 1]`."""
    if aligned and end - here == WIDTH:
        word: vector(K, WIDTH)
        for k in range(WIDTH):
            word[k] = items[k]
        store_vector(out[here], word, cache="no_allocate")
    else:
        for k in range(WIDTH):
            if here + k < end:
                out[here + k] = items[k]


@prism.device
@requires(block[1], thread[1])
@template(C=dtype)
def key_at(
    starts: ptr(const(C)) @ grid[1], first: int32 @ block[1], many: int32 @ block[1], at: int64 @ block[1],
) -> int32 @ block[1]:
    """The key of the number at a place, of keys `first ... first + many - 1`: the last one that begins there or before."""
    low: int32 @ block[1] = first
    high: int32 @ block[1] = first + many
    while low < high:
        middle: int32 @ block[1] = low + (high - low) // 2
        if starts[middle] <= C(at):
            low = middle + 1
        else:
            high = middle
    return low - 1


@prism.device
@requires(block[1], thread[1])
@template(C=dtype)
def key_near(
    starts: ptr(const(C)) @ grid[1], first: int32 @ block[1], keys: int32 @ block[1], at: int64 @ block[1],
) -> int32 @ block[1]:
    """As `key_at`, of keys `first ... keys - 1`, quick where it is near `first`: steps are doubled until they go beyond it."""
    step: int32 @ block[1] = 1
    while first + step < keys and starts[min(first + step, keys - 1)] <= C(at):
        step = 2 * step
    low: int32 @ block[1] = first + step // 2
    return key_at(starts, low, min(first + step, keys) - low, at)


@prism.kernel
@template(K=dtype, C=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def order_zeros(
    x: ptr(const(K)) @ grid[1], starts: ptr(const(C)) @ grid[1], y: ptr(K) @ grid[1], n: int64 @ grid[1], skew: int32 @ grid[1],
    lowest: K @ grid[1], words: ptr(mailbox(C)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """Where `x` has both zeros of a float, write them into `y` in the order in which they stand there: they are equal.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`: bits of `n` numbers. `starts`: where each key begins in `y`. `skew`: as of `count_keys`. `words`: `capacity`
                 of them, at least one a tile; `control`: one word. All zero at first, and of no other use meanwhile.
    Cost:        nothing but the launch where there is one kind of zeros, or none; else a read of `x`.
    Test:        tests/kernels/test_sort_fill.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    SIGN: constexpr(int) = 1 << 8 * K.bytes - 1
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    zero: int32 @ grid[1] = int32(lower_zero(lowest))
    begin: int64 @ grid[1] = int64(starts[zero])
    if starts[zero] < starts[zero + 1] and starts[zero + 1] < starts[zero + 2]:
        with partition(y, block[1], offset=begin, races="none") as out, group(block[1]):
            zeros: uint32 @ thread[1] = 0  # of the held tile, as bits
            signs: uint32 @ thread[1] = 0
            before: int32 @ thread[32] = 0  # how many zeros in the warps before
            held: int32 @ block[1] = 0  # how many in all
            zeros_ahead: uint32 @ thread[1] = 0  # the same of the following tile
            signs_ahead: uint32 @ thread[1] = 0
            earlier: int32[1] @ thread[32]
            coming: int32 @ block[1] = 0
            earlier[0] = 0

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1]) -> C @ thread[1]:
                """Find the zeros of a tile, and their signs, as bits; return how many there are."""
                nonlocal zeros_ahead, signs_ahead, coming
                items: K[ITEMS] @ thread[1]
                with partition(x, block[1], offset=int64(tile) * TILE) as source:
                    block.load_tile(
                        source, items, extent(tile, n, TILE=TILE), 1, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False,
                    )
                block.prefetch_tile(x, tile + blocks, n, TILE=TILE)  # about what this block draws next
                zeros_ahead = 0
                signs_ahead = 0
                for k in range(ITEMS):
                    zeros_ahead = zeros_ahead | uint32(1 if items[k] & (SIGN - 1) == 0 else 0) << k
                    signs_ahead = signs_ahead | uint32(1 if items[k] >= SIGN else 0) << k
                coming = block.count_flags(zeros_ahead, earlier, THREADS=THREADS)
                return C(coming)

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1], prefix: C @ block[1]):
                """Write the held tile's zeros, behind the `prefix` zeros of the tiles before."""
                if held > 0:
                    items: K[ITEMS] @ thread[1]
                    for k in range(ITEMS):
                        items[k] = K(SIGN if (signs >> k & 1) != 0 else 0)
                    with partition(out, block[1], int64(prefix), races="none") as target:
                        block.store_flagged(
                            target, items, zeros, before, held, -1, TO=K, AS=same, WIDTH=WIDTH, THREADS=THREADS, VECTOR=1,
                        )

            @requires(block[1], thread["THREADS"])
            def keep():
                """The tile that was loaded becomes the held one."""
                nonlocal zeros, signs, held, before
                zeros = zeros_ahead
                signs = signs_ahead
                held = coming
                before = earlier[0]

            grid.scan_tiles(
                words, capacity, control, blocks, tiles, 0, 0, OP=operators.add, LOAD=load, KEEP=keep, STORE=store,
                THREADS=THREADS,
            )


@prism.device
@requires(thread[1])
@template(K=dtype)
def same(bits: K @ thread[1]) -> K @ thread[1]:
    """The bits themselves."""
    return bits


EXAMPLES = {
    "count_keys": {"C": "uint32", "KIND": INTEGER, "THREADS": 1024, "ITEMS": 16, "WIDTH": 8},
    "add_keys": {"C": "uint32", "THREADS": 512, "SHARES": 4},
    "begin_keys": {"C": "uint32", "THREADS": 1024},
    "fill_keys": {"K": "uint16", "C": "uint32", "KIND": INTEGER, "THREADS": 512, "ITEMS": 16, "WIDTH": 8},
    "order_zeros": {"K": "uint16", "C": "uint32", "THREADS": 512, "ITEMS": 32, "WIDTH": 8},
}
