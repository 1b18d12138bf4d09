"""Keys of 8 or 16 bits that nothing goes along with are counted: each is written as often as it occurs."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    store_vector, template, thread, vector,
)
from prism.kernels.sort.order import INTEGER, decode
from prism.lib.thread import extent, operators

_FEW = 4
_SIDE = 4
"""Tiles that a block fills side by side. Where keys are rare they take longer: they are dealt out."""


@prism.kernel
@template(K=dtype, C=dtype, KIND=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
def begin_keys(counts: ptr(const(C)) @ grid[1], starts: ptr(C) @ grid[1], flip: K @ grid[1], lowest: K @ grid[1]):
    """`starts[k]` becomes how many numbers there are of the keys before `k`.

    Perspective: grid, a block for each `THREADS` counts: it adds up all that are before.
    Shapes:      `counts`: by the bits of numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`.
    Test:        tests/kernels/test_sort_fill.py
    """
    b: int32 @ block[1] = id()
    with partition(starts, block[1], offset=b * THREADS) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        sum: C @ thread[1] = 0
        with group(thread[1]):
            for i in range(t, b * THREADS, 4 * THREADS):
                for k in range(4):  # that many loads are under way at once
                    key: int32 = i + k * THREADS
                    sum = sum + (counts[int32(decode(K(key), flip, lowest, KIND=KIND))] if key < b * THREADS else 0)
        before: C @ block[1] = block.reduce(sum, OP=operators.add)
        own: C[1] @ thread[1]
        own[0] = counts[int32(decode(K(b * THREADS + t), flip, lowest, KIND=KIND))]
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


EXAMPLES = {
    "begin_keys": {"K": "uint16", "C": "uint32", "KIND": INTEGER, "THREADS": 1024},
    "fill_keys": {"K": "uint16", "C": "uint32", "KIND": INTEGER, "THREADS": 512, "ITEMS": 16, "WIDTH": 8},
}
