"""Elements put into parts by samples: what a sort by any order begins with where elements are many.

Some elements, in order, say where parts begin. An element's part is found by a search in shared memory, which is fewer steps than
the merges that it stands for. Parts are counted tile by tile, and sums of all counts say where each tile's part of each goes: so
equal elements keep their order. What is equal to several samples that begin parts has a part of its own, which is in order.
"""

from prism.lang import (
    atomic_add, attr, block, clz, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr,
    requires, shared, shuffle, struct, template, thread, uint8, uint32,
)
from prism.lib.thread import operators

CHUNK = 4096
"""So many counts are added up by a block."""
SEGMENTS = 256
"""The most parts that elements are put into at once."""
_SCATTER = 0x9E3779B1
"""Numbers times this: the upper bits are spread evenly."""


@prism.kernel
@template(T=dtype, THREADS=constexpr(int))
@requires(grid[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def take_samples(x: ptr(const(T)) @ grid[1], samples: ptr(T) @ grid[1], apart: int32 @ grid[1], many: int32 @ grid[1]):
    """Put one of each `apart` elements into `samples`, `many` in all: which one differs.

    Test:        tests/kernels/test_merge_samples.py
    """
    me: int32 @ thread[1] = id()
    with partition(samples, thread[1], offset=me) as own, group(thread[1]):
        if me < many:
            own[0] = x[int64(me) * apart + int64(uint32(me) * uint32(_SCATTER) >> 8) % apart]


@struct
class Tile:
    """Of a tile: its segment, how many tiles that has, which of these it is, how many elements it has, and where it begins."""

    segment: int32
    tiles: int32
    within: int32
    many: int32
    start: int64


@prism.device
@requires(block[1], thread[32])
@template(TILE=constexpr(int), INNER=constexpr(bool))
def find_tile(
    segments: ptr(const(uint32)) @ grid[1], tile: int32 @ block[1], n: int64 @ block[1]
) -> Tile @ block[1]:
    """Say what a tile is.

    `segments`: which tile is the first one of each, and, behind those of all, where it begins. Not `INNER`: there is one.
    """
    t: int32 @ thread[1] = id()
    if INNER:
        mine: int32 @ thread[1] = t if t < SEGMENTS and int32(segments[min(t, SEGMENTS)]) <= tile else 0
        segment: int32 @ block[1] = block.reduce(mine, OP=operators.maximum)
        first: int32 @ block[1] = int32(segments[segment])
        tiles: int32 @ block[1] = int32(segments[segment + 1]) - first
        begin: int64 @ block[1] = int64(segments[SEGMENTS + 1 + segment])
        end: int64 @ block[1] = int64(segments[SEGMENTS + 2 + segment])
        start: int64 @ block[1] = begin + int64(tile - first) * TILE
        many: int32 @ block[1] = int32(min(max(end - start, 0), TILE)) if tile < first + tiles else 0
        return Tile(segment, tiles, tile - first, many, start)
    else:
        start: int64 @ block[1] = int64(tile) * TILE
        return Tile(0, int32((n + (TILE - 1)) // TILE), tile, int32(min(n - start, TILE)), start)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, LESS=function, THREADS=constexpr(int))
def load_bounds(
    samples: ptr(const(T)) @ grid[1], tree: ptr(T) @ block[1], bounds: ptr(T) @ block[1], again: ptr(int32) @ block[1],
    begin: int32 @ block[1], apart: int32 @ block[1], bits: int32 @ block[1],
) -> bool @ block[1]:
    """Load the samples that parts begin with, every `apart` from `begin` on: as they are, and as a tree that is searched.

    Each lane of a warp has a tree of its own, so that no two meet in a bank of shared memory. `again`: whether the one before is
    equal; then what is equal has the part before.
    Returns: whether there is such a one.
    """
    t: int32 @ thread[1] = id()
    nodes: shared(T[SEGMENTS])
    equal: bool @ thread[1] = False
    with (
        partition(nodes, thread[1], offset=t) as one, partition(bounds, thread[1], offset=t) as own,
        partition(again, thread[1], offset=t) as mark, group(thread[1]),
    ):
        if t < SEGMENTS:
            node: int32 = min(max(t, 1), (1 << bits) - 1)
            level: int32 = 31 - int32(clz(uint32(node)))
            rank: int32 = (2 * (node - (1 << level)) + 1 << bits) >> level + 1
            one[0] = samples[begin + rank * apart]
        if t < 1 << bits:
            own[0] = samples[begin + t * apart]
            if t > 0 and (t > 1 or begin > 0):
                equal = not LESS(samples[begin + (t - 1) * apart], samples[begin + t * apart])
            mark[0] = 1 if equal else 0
    with partition(tree, thread[1], offset=t) as copies, group(thread[1]):
        for k in range(32 * SEGMENTS // THREADS):
            copies[k * THREADS] = nodes[k * (THREADS // 32) + t // 32]
    return block.any(equal)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, LESS=function, ITEMS=constexpr(int), BATCH=constexpr(int), THREADS=constexpr(int), WHOLE=constexpr(bool))
def find_parts(
    x: ptr(const(T)) @ block[1], tree: ptr(const(T)) @ block[1], bounds: ptr(const(T)) @ block[1],
    again: ptr(const(int32)) @ block[1], bins: ptr(int32) @ block[1], numbers: ptr(uint8) @ block[1], many: int32 @ block[1],
    bits: int32 @ block[1], repeated: bool @ block[1],
):
    """Find which part each of `many` elements belongs to, `BATCH` of a thread at a time, and count those of each in `bins`.

    `WHOLE`: there are `ITEMS` for each thread.
    """
    t: int32 @ thread[1] = id()
    # What leads from twice a place to those below. Did a compiler know their difference, it would add that later, by one more.
    left: int32 @ thread[1] = -(t % 32)
    right: int32 @ thread[1] = shuffle(32 - t % 32, t % 32)
    with partition(numbers, thread[1], offset=t) as own, group(thread[1]):
        root: T = tree[32 + t % 32]
        lower: T = tree[64 + t % 32]
        upper: T = tree[96 + t % 32]
        for first in range(0, ITEMS * THREADS, BATCH * THREADS, unroll=False):
            items: T[BATCH]
            spots: int32[BATCH]
            for k in range(BATCH):
                items[k] = x[first + k * THREADS + t if WHOLE else min(first + k * THREADS + t, many - 1)]
            for k in range(BATCH):  # two levels, whose nodes are in registers
                first_half: bool = LESS(items[k], root)
                spots[k] = 2 * (64 + t % 32 if first_half else 96 + t % 32)
                spots[k] = spots[k] + (left if LESS(items[k], lower if first_half else upper) else right)
            for level in range(2, bits, unroll=2):
                for k in range(BATCH):
                    spots[k] = 2 * spots[k] + (left if LESS(items[k], tree[spots[k]]) else right)
            for k in range(BATCH):
                spots[k] = spots[k] // 32
            if repeated:
                for k in range(BATCH):
                    here: int32 = spots[k] - (1 << bits)
                    if again[here] != 0 and not LESS(bounds[here], items[k]):
                        spots[k] = spots[k] - 1
            for k in range(BATCH):
                if WHOLE or first + k * THREADS < many - t:
                    atomic_add(bins[spots[k]], 1, scope="block")
                    own[first + k * THREADS] = uint8(spots[k] - (1 << bits))


@prism.kernel
@template(
    T=dtype, LESS=function, ITEMS=constexpr(int), BATCH=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    INNER=constexpr(bool), STAY=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def count_parts(
    x: ptr(const(T)) @ grid[1], samples: ptr(const(T)) @ grid[1], segments: ptr(const(uint32)) @ grid[1],
    numbers: ptr(uint8) @ grid[1], counts: ptr(uint32) @ grid[1], n: int64 @ grid[1], apart: int32 @ grid[1],
    bits: int32 @ grid[1], tiles: int32 @ grid[1],
):
    """Find which of `1 << bits` parts, at least four, of its segment each element belongs to, and count those of each tile.

    Perspective: grid, a block for each `STAY` of the `tiles`, of at least 256 threads; with `INNER` more tiles may be.
    Shapes:      `x`: `n` elements; `INNER`: in segments, of `find_segments`. `samples`: in order by `LESS`; each `apart` a part
                 begins. `numbers`: a part's number for each element. `counts`: of each segment those of its tiles for each part.
                 `BATCH` divides `ITEMS`: so many elements a thread are looked for at once.
    Cost:        a read of each element, a write of a byte, and `bits - 2` reads of shared memory. Samples are loaded once for all
                 tiles that a block has of a segment.
    Source:      Frazer and McKellar, "Samplesort: a sampling approach to minimal storage tree sorting".
    Test:        tests/kernels/test_merge_samples.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    begin: int32 @ block[1] = id() * STAY
    with (
        partition(numbers, block[1], offset=lambda place: place, races="none") as all_numbers,
        partition(counts, block[1], offset=lambda place: place, races="none") as all_counts, group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        tree: shared(T[32 * SEGMENTS])
        bounds: shared(T[SEGMENTS])
        again: shared(int32[SEGMENTS])
        bins: shared(int32[2 * SEGMENTS])  # those of 1 << bits and more are taken
        held: int32 @ block[1] = -1  # the segment whose samples are there
        repeated: bool @ block[1] = False
        for number in range(begin, min(begin + STAY, tiles)):
            at: Tile @ block[1] = find_tile(segments, number, n, TILE=TILE, INNER=INNER)
            if at.many > 0:
                block.fill(bins, 0, 2 * SEGMENTS)
                if at.segment != held:
                    held = at.segment
                    repeated = load_bounds(
                        samples, tree, bounds, again, held * (apart << bits), apart, bits, LESS=LESS, THREADS=THREADS,
                    )
                with (
                    partition(x, block[1], offset=at.start) as mine,
                    partition(all_numbers, block[1], offset=at.start, races="none") as own,
                ):
                    if at.many == TILE:
                        find_parts(
                            mine, tree, bounds, again, bins, own, TILE, bits, repeated, LESS=LESS, ITEMS=ITEMS, BATCH=BATCH,
                            THREADS=THREADS, WHOLE=True,
                        )
                    else:
                        find_parts(
                            mine, tree, bounds, again, bins, own, at.many, bits, repeated, LESS=LESS, ITEMS=ITEMS, BATCH=BATCH,
                            THREADS=THREADS, WHOLE=False,
                        )
                first: int32 @ block[1] = (number - at.within << bits) + at.within
                with partition(all_counts, thread[1], offset=first + t * at.tiles, races="none") as own, group(thread[1]):
                    if t < 1 << bits:
                        own[0] = uint32(bins[t + (1 << bits)])
            else:
                with partition(all_counts, thread[1], offset=(number << bits) + t, races="none") as own, group(thread[1]):
                    if t < 1 << bits:
                        own[0] = 0


@prism.kernel
@template(THREADS=constexpr(int), ITEMS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def add_counts(counts: ptr(uint32) @ grid[1], sums: ptr(uint32) @ grid[1], many: int32 @ grid[1]):
    """Replace each of `many` counts by the sum of those before it in its `CHUNK`, and put all of a chunk's into `sums`.

    Perspective: grid, a block for each chunk of `THREADS * ITEMS`.
    Test:        tests/kernels/test_merge_samples.py
    """
    b: int32 @ block[1] = id()
    with (
        partition(counts, block[1], offset=b * (THREADS * ITEMS)) as part, partition(sums, block[1], offset=b) as sum,
        group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        left: int32 @ block[1] = many - b * (THREADS * ITEMS)
        items: uint32[ITEMS] @ thread[1]
        every: uint32 @ block[1] = 0
        with partition(part, thread[1], offset=t * ITEMS) as own:
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = own[k] if t * ITEMS + k < left else 0
            every = block.scan(items, 0, WIDTH=ITEMS, OP=operators.add, EXCLUSIVE=True)
            with group(thread[1]):
                for k in range(ITEMS):
                    if t * ITEMS + k < left:
                        own[k] = items[k]
        with partition(sum, thread[1], offset=t) as own, group(thread[1]):
            if t == 0:
                own[0] = every


@prism.device
@requires(thread[1])
def sum_before(
    counts: ptr(const(uint32)) @ grid[1], sums: ptr(const(uint32)) @ grid[1], place: int32 @ thread[1]
) -> uint32 @ thread[1]:
    """How much all counts before one come to, as `add_counts` has left them, and their sums."""
    return counts[place] + sums[place // CHUNK]


@prism.kernel
@template(TILE=constexpr(int))
@requires(grid[1], block[1], thread[256])
@attr("__launch_bounds__(256)")
def find_segments(
    counts: ptr(const(uint32)) @ grid[1], sums: ptr(const(uint32)) @ grid[1], segments: ptr(uint32) @ grid[1], n: int64 @ grid[1],
    tiles: int32 @ grid[1], bits: int32 @ grid[1],
):
    """Say where each part begins, and which tile is its first one: see `find_tile`. `counts`: of `tiles` for each part.

    Perspective: grid, of one block.
    Test:        tests/kernels/test_merge_samples.py
    """
    with partition(segments, block[1], races="none") as all, group(block[1]):
        t: int32 @ thread[1] = id()
        begin: uint32 @ thread[1] = uint32(n)
        end: uint32 @ thread[1] = uint32(n)
        mine: int32[1] @ thread[1]
        with group(thread[1]):
            if t < 1 << bits:
                begin = sum_before(counts, sums, t * tiles)
            if t + 1 < 1 << bits:
                end = sum_before(counts, sums, (t + 1) * tiles)
            mine[0] = (int32(end - begin) + (TILE - 1)) // TILE
        every: int32 @ block[1] = block.scan(mine, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
        with partition(all, thread[1], offset=lambda place: place, races="none") as own, group(thread[1]):
            own[t] = uint32(mine[0])
            own[SEGMENTS + 1 + t] = begin
            if t == 255:
                own[SEGMENTS] = uint32(every)
                own[2 * SEGMENTS + 1] = uint32(n)


EXAMPLES = {
    "take_samples": {"T": "float32", "THREADS": 256},
    "count_parts": {
        "T": "float32", "LESS": operators.less, "ITEMS": 16, "BATCH": 8, "THREADS": 512, "BLOCKS": 2, "INNER": True, "STAY": 1,
    },
    "add_counts": {"THREADS": 512, "ITEMS": 8},
    "find_segments": {"TILE": 8192},
}
