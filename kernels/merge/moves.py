"""Elements moved to the parts that samples have put them into, tile by tile, in the order in which they stood."""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread, uint8, uint32,
)
from prism.kernels.merge.samples import SEGMENTS, Tile, find_tile, sum_before
from prism.kernels.sort.ranking import begin_digits

MOST_CALLS = 40
"""How often a tile is written at most: 17 times are enough to mend it, where nobody else writes to it."""


@prism.device
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), THREADS=constexpr(int))
def rank_quickly(ranks: int32[ITEMS] @ thread[1]) -> int32 @ thread[1]:
    """Say where each element stands in the order of its digit, in the bits above it: what is equal in the order of additions.

    No one says which lane adds first. Element `k` of lane `l` of warp `w` is number `(w * ITEMS + k) * 32 + l`.
    Returns: where digit `t` begins.
    """
    WARPS: constexpr(int) = THREADS // 32
    w: int32 @ thread[32] = id()
    table: shared(uint32[WARPS * SEGMENTS])
    common: shared(int32[1])
    found: uint32[2] @ thread[1]
    block.fill(table, 0, WARPS * SEGMENTS)
    block.fill(common, -1, 1)
    with group(thread[1]):
        for k in range(ITEMS):
            ranks[k] = ranks[k] | int32(atomic_add(table[w * SEGMENTS + ranks[k]], 1, scope="block")) << 8
    begin_digits(table, common, found, False, THREADS=THREADS, TILE=THREADS * ITEMS)
    with group(thread[1]):
        for k in range(ITEMS):
            ranks[k] = ranks[k] + (int32(table[w * SEGMENTS + (ranks[k] & 255)]) << 8)
    return int32(found[1])


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, V=dtype, VALUES=constexpr(bool), TILE=constexpr(int), THREADS=constexpr(int))
def exchange(tile: ptr(T) @ block[1], moved: ptr(V) @ block[1], ids: ptr(uint32) @ block[1], odd: int32 @ block[1]):
    """Exchange elements side by side that stand in the wrong order: of pairs that begin at an even place, or an `odd` one.

    What lanes have added in another order is at most 31 places off.
    """
    t: int32 @ thread[1] = id()
    with (
        partition(tile, thread[1], offset=lambda place: place, races="none") as own,
        partition(moved, thread[1], offset=lambda place: place, races="none") as value,
        partition(ids, thread[1], offset=lambda place: place, races="none") as mark, group(thread[1]),
    ):
        for place in range(2 * t + odd, TILE - 1, 2 * THREADS):
            if mark[place] > mark[place + 1]:
                word: uint32 = mark[place]
                one: T = own[place]
                mark[place] = mark[place + 1]
                mark[place + 1] = word
                own[place] = own[place + 1]
                own[place + 1] = one
                if VALUES:
                    beside: V = value[place]
                    value[place] = value[place + 1]
                    value[place + 1] = beside


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, V=dtype, VALUES=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int), WHOLE=constexpr(bool),
)
def put_in_order(
    x: ptr(const(T)) @ block[1], x_values: ptr(const(V)) @ block[1], numbers: ptr(const(uint8)) @ block[1],
    tile: ptr(T) @ block[1], moved: ptr(V) @ block[1], ids: ptr(uint32) @ block[1], many: int32 @ block[1],
) -> int32 @ thread[1]:
    """Put `many` elements into a tile in the order of their parts, and into `ids` their parts, and where they stood.

    `WHOLE`: there are `ITEMS` for each thread.
    Returns: where part `t` begins, in thread `t`.
    """
    t: int32 @ thread[1] = id()
    place: int32 @ thread[1] = t // 32 * (32 * ITEMS) + t % 32
    items: T[ITEMS] @ thread[1]
    values: V[ITEMS if VALUES else 1] @ thread[1]
    ranks: int32[ITEMS] @ thread[1]
    with group(thread[1]):
        for k in range(ITEMS):
            here: int32 = place + 32 * k if WHOLE else min(place + 32 * k, many - 1)
            ranks[k] = int32(numbers[here]) if WHOLE or place + 32 * k < many else SEGMENTS - 1
            items[k] = x[here]
    begin: int32 @ thread[1] = rank_quickly(ranks, THREADS=THREADS)
    with (
        partition(tile, thread[1], offset=lambda rank: rank, races="none") as spot,
        partition(moved, thread[1], offset=lambda rank: rank, races="none") as value_spot,
        partition(ids, thread[1], offset=lambda rank: rank, races="none") as mark, group(thread[1]),
    ):
        for k in range(ITEMS):
            spot[ranks[k] >> 8] = items[k]
            mark[ranks[k] >> 8] = uint32(ranks[k] & 255) << 16 | uint32(place + 32 * k)
        if VALUES:  # now that keys are put away registers are free
            for k in range(ITEMS):
                values[k] = x_values[place + 32 * k if WHOLE else min(place + 32 * k, many - 1)]
            for k in range(ITEMS):
                value_spot[ranks[k] >> 8] = values[k]
    return begin


@prism.device
@requires(block[1], thread[1])
@template(
    T=dtype, V=dtype, VALUES=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int), WHOLE=constexpr(bool),
)
def write_in_order(
    y: ptr(T) @ block[1], y_values: ptr(V) @ block[1], tile: ptr(const(T)) @ block[1], moved: ptr(const(V)) @ block[1],
    ids: ptr(const(uint32)) @ block[1], targets: ptr(const(int32)) @ block[1], many: int32 @ block[1],
) -> bool @ thread[1]:
    """Write a tile's elements to their parts; say whether one that this thread has seen stands behind a later one."""
    t: int32 @ thread[1] = id()
    wrong: bool @ thread[1] = False
    with (
        partition(y, thread[1], offset=lambda place: place, races="none") as own,
        partition(y_values, thread[1], offset=lambda place: place, races="none") as own_values, group(thread[1]),
    ):
        for k in range(ITEMS, unroll=True):
            here: int32 = k * THREADS + t
            if WHOLE or here < many:
                word: uint32 = ids[here]
                wrong = wrong or ids[max(here - 1, 0) if k == 0 else here - 1] > word
                target: int32 = targets[int32(word >> 16)] + here
                own[target] = tile[here]
                if VALUES:
                    own_values[target] = moved[here]
    return wrong


@prism.kernel
@template(
    T=dtype, V=dtype, VALUES=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
    INNER=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def move_parts(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], x_values: ptr(const(V)) @ grid[1], y_values: ptr(V) @ grid[1],
    segments: ptr(const(uint32)) @ grid[1], numbers: ptr(const(uint8)) @ grid[1],
    counts: ptr(const(uint32)) @ grid[1], sums: ptr(const(uint32)) @ grid[1], n: int64 @ grid[1], bits: int32 @ grid[1],
):
    """Move each element to its part, behind those of the tiles before; `VALUES` go where their keys go.

    Perspective: grid, a block for each tile; with `INNER` more of them may be.
    Shapes:      as of `count_parts`; `y` is not the memory of `x`. `counts`, `sums`: as `add_counts` has left them.
    Cost:        a read and a write of each element, a read of a byte.
    Test:        tests/kernels/test_merge_samples.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    number: int32 @ block[1] = id()
    with (
        partition(y, block[1], offset=lambda place: place, races="none") as result,
        partition(y_values, block[1], offset=lambda place: place, races="none") as value_result, group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        at: Tile @ block[1] = find_tile(segments, number, n, TILE=TILE, INNER=INNER)
        if at.many > 0:
            tile: shared(T[TILE])
            moved: shared(V[TILE if VALUES else 1])
            ids: shared(uint32[TILE])  # an element's part, and where it stood in the tile
            targets: shared(int32[SEGMENTS])
            first: int32 @ block[1] = (number - at.within << bits) + at.within
            begin: int32 @ thread[1] = 0
            base: int32 @ thread[1] = 0  # asked for first, as all else takes longer, where registers are left
            with group(thread[1]):
                if not VALUES and t < 1 << bits:
                    base = int32(sum_before(counts, sums, first + t * at.tiles))
            with (
                partition(x, block[1], offset=at.start) as mine,
                partition(x_values, block[1], offset=at.start if VALUES else 0) as mine_values,
                partition(numbers, block[1], offset=at.start) as mine_numbers,
            ):
                if at.many == TILE and not VALUES:  # with values a compiler would load all at once, and spill
                    begin = put_in_order(
                        mine, mine_values, mine_numbers, tile, moved, ids, TILE, VALUES=VALUES, ITEMS=ITEMS, THREADS=THREADS,
                        WHOLE=True,
                    )
                else:
                    begin = put_in_order(
                        mine, mine_values, mine_numbers, tile, moved, ids, at.many, VALUES=VALUES, ITEMS=ITEMS, THREADS=THREADS,
                        WHOLE=False,
                    )
            with partition(targets, thread[1], offset=t) as own, group(thread[1]):
                if t < 1 << bits:
                    own[0] = (int32(sum_before(counts, sums, first + t * at.tiles)) if VALUES else base) - begin
            calls: int32 @ block[1] = 0
            while True:
                wrong: bool @ thread[1] = False
                if at.many == TILE:
                    wrong = write_in_order(
                        result, value_result, tile, moved, ids, targets, TILE, VALUES=VALUES, ITEMS=ITEMS, THREADS=THREADS,
                        WHOLE=True,
                    )
                else:
                    wrong = write_in_order(
                        result, value_result, tile, moved, ids, targets, at.many, VALUES=VALUES, ITEMS=ITEMS, THREADS=THREADS,
                        WHOLE=False,
                    )
                again: bool @ block[1] = block.any(wrong)
                calls = calls + 1
                if not again or calls == MOST_CALLS:
                    break
                for odd in range(2):
                    exchange(tile, moved, ids, odd, VALUES=VALUES, TILE=TILE, THREADS=THREADS)


EXAMPLES = {
    "move_parts": {
        "T": "float32", "V": "uint32", "VALUES": False, "ITEMS": 16, "THREADS": 512, "BLOCKS": 2, "INNER": True,
    },
}
