"""Sorting an array that all blocks of a GPU hold at once, by shares: a sample says which keys each block sorts.

As of `prism.kernels.sort.ranges`, but the blocks exchange their keys through memory, once, where passes by digits exchange them
once a digit. Where the sample finds keys too crowded, or a share turns out to have too many, nothing is sorted, and that is said.
"""

from prism.lang import (
    atomic_add, attr, block, claim, const, constexpr, dtype, grid, group, id, int32, may_alias, one, partition, prism, ptr,
    requires, shared, template, thread, uint16, uint32, wrapping_add, wrapping_subtract,
)
from prism.kernels.sort.choose import part_of
from prism.kernels.sort.order import INTEGER, minus_zero
from prism.kernels.sort.parts import NONE
from prism.kernels.sort.ranges import sort_part, sort_sample
from prism.kernels.sort.resident import add_tiles
from prism.kernels.sort.words import is_special, word_of
from prism.lib.thread import operators

PARTS = 256
"""Of all keys, at most: a share is two of them."""
FLAG, ROW = 128, 512
"""Behind a tile's numbers of each part, two in a word, stands whether its keys can't be sorted so; words of a tile."""
_EACH = 4
"""Keys of the sample that a thread looks at: of 2048 a share of 128 has 16."""
_BUCKETS = 11
"""Bits that tell the bucket of a key of the sample."""
_BATCH = 4


@prism.device
@template(K=dtype, THREADS=constexpr(int), KIND=constexpr(int))
@requires(block[1], thread["THREADS"])
def find_bounds(
    x: ptr(const(K)) @ grid[1], bounds: ptr(K) @ block[1], n: int32 @ block[1], parts: int32 @ block[1], flip: K @ block[1],
    lowest: K @ block[1],
) -> bool @ block[1]:
    """Put into `bounds` the key that each of so many parts begins with, by a sample; say whether its keys are crowded."""
    MANY: constexpr(int) = THREADS * _EACH
    t: int32 @ thread[1] = id()
    apart: int32 @ block[1] = n // MANY
    sample: K[_EACH] @ thread[1]
    ordered: shared(K[MANY])
    with group(thread[1]):
        for k in range(_EACH):
            number: int32 = t + k * THREADS
            where: int32 = number * apart + number * 149 % apart
            sample[k] = word_of(x[where], where, flip, lowest, W=K, KIND=KIND)
    crowded: bool @ block[1] = sort_sample(
        sample, ordered, flip, lowest, THREADS=THREADS, BUCKETS=_BUCKETS, KIND=KIND, NETWORK=False,
    )
    with partition(bounds, thread[1], offset=t) as own, group(thread[1]):
        if t < PARTS:
            own[0] = ordered[t * MANY // parts] if not crowded and t < parts else ~K(0)
    return crowded


@prism.device
@template(K=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), KIND=constexpr(int))
@requires(block[1], thread["THREADS"])
def count_shares(
    x: ptr(const(K)) @ grid[1], keys: K[ITEMS] @ thread[1], chosen: uint32[ITEMS] @ thread[1], numbers: ptr(uint32) @ block[1],
    n: int32 @ block[1], parts: int32 @ block[1], mine: int32 @ thread[1], flip: K @ block[1], lowest: K @ block[1],
):
    """Say in `numbers` how many keys of the block each part has, and in `chosen` which one a key belongs to, and as what number.

    `mine`: how many keys a thread has, or more. `numbers[FLAG]` becomes 1 where keys are crowded, or bits don't tell their order.
    """
    t: int32 @ thread[1] = id()
    bounds: shared(K[PARTS])
    bins: shared(uint32[PARTS])
    block.fill(bins, 0, PARTS)
    special: bool @ thread[1] = False
    crowded: bool @ block[1] = find_bounds(x, bounds, n, parts, flip, lowest, THREADS=THREADS, KIND=KIND)
    with group(thread[1]):
        tops: K[9]  # of eighths of all parts: for the first steps of all searches
        for d in range(9):
            tops[d] = bounds[d * (PARTS // 8)] if d < 8 else ~K(0)
        if KIND != INTEGER:
            zero: K = minus_zero(flip, lowest)
            most: K = 0
            for k in range(ITEMS):
                here: K = keys[k] if k < mine else 0
                most = max(most, here)
                special = special | (here == zero)
            special = special | is_special(most, flip, lowest)
        if not crowded:
            for k in range(ITEMS):  # without a branch, so that all are looked for at once
                at: int32 = PARTS // 8 * int32(part_of(keys[k], tops))
                for half in range(3, 8):
                    next: int32 = at + (PARTS >> half + 1)
                    at = next if keys[k] >= bounds[next] else at
                chosen[k] = uint32(min(at, parts - 1))
            for first in range(0, ITEMS, _BATCH):
                before: uint32[_BATCH]
                for k in range(_BATCH):
                    before[k] = 0
                    if first + k < mine:
                        before[k] = atomic_add(bins[int32(chosen[first + k])], 1, scope="block")
                for k in range(_BATCH):
                    chosen[first + k] = chosen[first + k] | before[k] << 8
    wrong: bool @ block[1] = block.any(special or crowded)
    with partition(numbers, thread[1], offset=t) as own, group(thread[1]):
        if t < FLAG:
            own[0] = bins[2 * t] | bins[2 * t + 1] << 16
        elif t == FLAG:
            own[0] = 1 if wrong else 0


@prism.device
@template(K=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), ROOM=constexpr(int), PASSES=constexpr(int))
@requires(block[1], thread["THREADS"])
def exchange_shares(
    keys: K[ITEMS] @ thread[1], chosen: uint32[ITEMS] @ thread[1], numbers: ptr(uint32) @ grid[1], spare: ptr(K) @ block[1],
    share: int32[2] @ block[1], tile: int32 @ block[1], tiles: int32 @ grid[1], n: int32 @ block[1], mine: int32 @ thread[1],
) -> bool @ block[1]:
    """Write the block's keys into `spare`, each part behind those before it.

    `numbers`: `ROW` words a tile, that `count_shares` has left. `share`: where the block's share begins in `spare`, and how many
    keys it has.
    Returns: whether a share has more than `ROOM`.
    """
    TILE: constexpr(int) = THREADS * ITEMS
    t: int32 @ thread[1] = id()
    targets: shared(uint32[PARTS])
    firsts: shared(uint32[PARTS])
    begins: shared(uint32[PARTS + 2])
    sorted: shared(K[TILE])
    ids: shared(uint16[TILE])
    found: uint32[2] @ thread[1]
    add_tiles(numbers, 0, tile, tiles, found, THREADS=THREADS, PASSES=PASSES, AHEAD=4 if ITEMS <= 8 else 2)
    starts: uint32[1] @ thread[1]
    local: uint32[1] @ thread[1]
    starts[0] = found[0]
    local[0] = numbers[tile * ROW + t // 2] >> 16 * (t % 2) & 0xFFFF if t < PARTS else 0
    block.scan(starts, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
    block.scan(local, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
    with (
        partition(targets, thread[1], offset=t) as target, partition(firsts, thread[1], offset=t) as first,
        partition(begins, thread[1], offset=t) as begin, group(thread[1]),
    ):
        if t < PARTS:
            target[0] = wrapping_subtract(starts[0] + found[1], local[0])
            first[0] = local[0]
        if t < PARTS + 2:
            begin[0] = starts[0]  # behind all parts: how many keys there are
    with (
        partition(sorted, thread[1], offset=lambda place: place, races="none") as spot,
        partition(ids, thread[1], offset=lambda place: place, races="none") as id_spot, group(thread[1]),
    ):
        for k in range(ITEMS):
            if k < mine:
                part: int32 = int32(chosen[k] & PARTS - 1)
                place: int32 = int32(firsts[part] + (chosen[k] >> 8))
                spot[place] = keys[k]
                id_spot[place] = uint16(part)
    many: int32 @ block[1] = min(n - tile * TILE, TILE)
    with partition(spare, thread[1], offset=lambda place: place, races="none") as out, group(thread[1]):
        for k in range(ITEMS):
            here: int32 = t + k * THREADS
            if here < many:
                out[int32(wrapping_add(targets[int32(ids[here])], uint32(here)))] = sorted[here]
    share[0] = int32(begins[2 * tile])
    share[1] = int32(begins[2 * tile + 2]) - share[0]
    wrong: bool @ thread[1] = False
    with group(thread[1]):
        if t < tiles:
            wrong = begins[2 * t + 2] - begins[2 * t] > ROOM
    return block.any(wrong)


@prism.device
@template(K=dtype, MOST=constexpr(int), THREADS=constexpr(int), BUCKETS=constexpr(int), KIND=constexpr(int))
@requires(block[1], thread["THREADS"])
def sort_share(
    x: ptr(const(K)) @ grid[1], spare: ptr(const(K)) @ grid[1], y: ptr(K) @ block[1], share: int32[2] @ block[1],
    flip: K @ block[1], lowest: K @ block[1],
):
    """Sort the block's share of what all have written into `spare`, and write it. `share`: as of `exchange_shares`."""
    t: int32 @ thread[1] = id()
    few: K[MOST] @ thread[1]
    with group(thread[1]):
        for k in range(MOST):
            few[k] = spare[share[0] + t + k * THREADS] if t + k * THREADS < share[1] else 0
    sort_part(
        x, x, few, y, y, y, share[1], share[0], flip, lowest, VALUES=NONE, THREADS=THREADS, BATCH=_BATCH,
        BUCKETS=BUCKETS, KIND=KIND,
    )


@prism.kernel
@template(
    K=dtype, KIND=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), MOST=constexpr(int), BUCKETS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"], cooperative=True)
@attr("__launch_bounds__(THREADS, 1)")
@may_alias("x", "y")
def sort_shares(
    x: ptr(const(K)) @ grid[1], spare: ptr(K) @ grid[1], y: ptr(K) @ grid[1], numbers: ptr(uint32) @ grid[1],
    failed: ptr(uint32) @ grid[1], n: int32 @ grid[1], tiles: int32 @ grid[1], flip: K @ grid[1], lowest: K @ grid[1],
):
    """Sort `n` keys, a share a block; or put 1 into `failed[0]`, and leave `y` as it is.

    Perspective: grid, of as many blocks of `THREADS` threads as there are tiles of `THREADS * ITEMS` keys, at most 128.
    Shapes:      `x`: bits of numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`. `KIND`: INTEGER, or
                 FLOAT. `spare`: `n` keys. `numbers`: `ROW` words a tile, aligned to 16 bytes, of any content; `failed`: one word
                 a tile, which all become the same. A share has up to `THREADS * MOST` keys, of `1 << BUCKETS` buckets. `y` may be
                 `x`.
    Cost:        two reads and two writes of a key, two barriers of the grid, each block's read of `numbers`. It fails where many
                 of some thousand keys are equal, or one is -0.0 or NaN, and very seldom else.
    Source:      Frazer and McKellar, "Samplesort: a sampling approach to minimal storage tree sorting".
    Test:        tests/kernels/test_sort_shares.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % THREADS
    place: int32 @ thread[1] = b * TILE + t // 32 * (32 * ITEMS) + t % 32
    mine: int32 @ thread[1] = (n - place + 31) // 32  # keys of the thread, or more
    keys: K[ITEMS] @ thread[1]
    chosen: uint32[ITEMS] @ thread[1]
    share: int32[2] @ block[1]
    wrong: bool @ block[1] = False
    with partition(numbers, block[1], offset=b * ROW) as own, group(block[1]):
        with group(thread[1]):
            for k in range(ITEMS):
                keys[k] = word_of(x[place + 32 * k], 0, flip, lowest, W=K, KIND=KIND) if k < mine else ~K(0)
        count_shares(x, keys, chosen, own, n, 2 * tiles, mine, flip, lowest, THREADS=THREADS, KIND=KIND)
    with (
        partition(spare, block[1], offset=lambda place: place, races="none") as exchanged,
        partition(failed, block[1], offset=b) as mark, group(block[1]),
    ):
        refused: bool @ thread[1] = False
        with group(thread[1]):
            if t < tiles:
                refused = numbers[t * ROW + FLAG] != 0
        wrong = block.any(refused)
        if not wrong:
            wrong = exchange_shares(
                keys, chosen, numbers, exchanged, share, b, tiles, n, mine, THREADS=THREADS, ROOM=THREADS * MOST,
                PASSES=ROW // 128,
            )
        with claim(mark, thread[1]) as own, one(thread):
            own[0] = 1 if wrong else 0
    with partition(y, block[1], offset=lambda place: place, races="none") as result, group(block[1]):
        if not wrong:
            sort_share(x, spare, result, share, flip, lowest, MOST=MOST, THREADS=THREADS, BUCKETS=BUCKETS, KIND=KIND)


EXAMPLES = {
    "sort_shares": {"K": "uint32", "KIND": INTEGER, "THREADS": 512, "ITEMS": 16, "MOST": 32, "BUCKETS": 13},
}
