"""Sorting whole numbers that are spread evenly: by their highest bits into groups, and then each group by itself.

Nothing is counted before: each group has room for some more elements than the mean, and a block asks for as many places in it as
its tile has elements of the group. Where a group has more, or a tile many of one, that is said, and nothing is sorted.
"""

from prism.lang import (
    atomic_add, atomic_or, attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr,
    requires, shared, split, static_assert, template, thread, uint32, wrapping_add, wrapping_subtract,
)
from prism.kernels.sort.order import INTEGER
from prism.kernels.sort.parts import NONE
from prism.kernels.sort.ranges import sort_part
from prism.lib.thread import extent, operators

_LOG = 10
MANY_GROUPS = 1 << _LOG
CROWDED = 8
"""A tile is crowded that has so many times the mean, and one element more, of a group."""
_BATCH = 4


@prism.kernel
@template(
    K=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), BLOCKS=constexpr(int), LOG=constexpr(int, default=_LOG),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def move_to_groups(
    x: ptr(const(K)) @ grid[1], spare: ptr(K) @ grid[1], ends: ptr(uint32) @ grid[1], failed: ptr(uint32) @ grid[1],
    n: int64 @ grid[1], room: int32 @ grid[1], flip: K @ grid[1],
):
    """Put the keys of `n` whole numbers of which the highest bits are `g` into `spare[g * room]` and behind, in any order.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `flip`: as of `sort_digit`. `spare`: `room` keys for each of `1 << LOG` groups, fewer than 2^31. `ends`: as
                 many numbers, 0 before, become how many keys each has. `failed[0]`, 0 before, becomes 1 where one has more than
                 `room`, or a tile very many of one; then nobody begins another tile.
    Cost:        a read and a write of an element; two additions to shared memory, and one to memory for each group of a tile.
    Test:        tests/kernels/test_sort_groups.py
    """
    MANY: constexpr(int) = 1 << LOG
    TILE: constexpr(int) = THREADS * ITEMS
    EACH: constexpr(int) = MANY // THREADS
    MOST: constexpr(int) = CROWDED * (TILE // MANY + 1)
    static_assert(EACH * THREADS == MANY and TILE <= 1 << 16, "a thread has so many groups, and a half of a word a rank")
    SHIFT: constexpr(int) = 8 * K.bytes - LOG
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with partition(spare, block[1], offset=lambda place: place, races="none") as all, group(block[1]):
        t: int32 @ thread[1] = id()
        bins: shared(uint32[MANY])
        targets: shared(uint32[MANY])
        sorted: shared(K[TILE])
        stop: shared(uint32[1])
        keys: K[ITEMS] @ thread[1]
        ranks: uint32[ITEMS // 2] @ thread[1]
        goes_on: bool @ block[1] = True
        tile: int32 @ block[1] = me
        while goes_on and tile < tiles:
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            mine: int32 @ thread[1] = (many - t + THREADS - 1) // THREADS
            with partition(x, thread[1], offset=int64(tile) * TILE + t) as own, group(thread[1]):
                for k in range(ITEMS):
                    keys[k] = own[k * THREADS] ^ flip if k < mine else ~K(0)
            block.prefetch_tile(x, tile + blocks, n, TILE=TILE)
            block.fill(bins, 0, MANY)
            with partition(stop, thread[1], offset=t, races="none") as own, group(thread[1]):
                if t == 0:
                    own[0] = atomic_or(failed[0], uint32(0))
            with group(thread[1]):
                for first in range(0, ITEMS, _BATCH):
                    before: uint32[_BATCH]
                    for k in range(_BATCH):
                        before[k] = 0
                        if first + k < mine:
                            before[k] = atomic_add(bins[int32(keys[first + k] >> SHIFT)], 1, scope="block")
                    for k in range(0, _BATCH, 2):
                        ranks[(first + k) // 2] = before[k] | before[k + 1] << 16
            sums: uint32[EACH] @ thread[1]
            cursors: uint32[EACH] @ thread[1]
            full: bool @ thread[1] = False
            with group(thread[1]):
                for j in range(EACH):
                    sums[j] = bins[t * EACH + j]
                    full = full or sums[j] > MOST
            stopped: uint32 @ block[1] = stop[0]
            crowded: bool @ block[1] = block.any(full)
            goes_on = stopped == 0 and not crowded
            if goes_on:
                with group(thread[1]):
                    for j in range(EACH):
                        cursors[j] = atomic_add(ends[t * EACH + j], sums[j])
                        full = full or cursors[j] + sums[j] > uint32(room)
                block.scan(sums, 0, WIDTH=EACH, OP=operators.add, EXCLUSIVE=True)
                with (
                    partition(bins, thread[1], offset=t * EACH) as begin,
                    partition(targets, thread[1], offset=t * EACH) as target, group(thread[1]),
                ):
                    for j in range(EACH):
                        begin[j] = sums[j]
                        target[j] = wrapping_subtract(uint32((t * EACH + j) * room) + cursors[j], sums[j])
                goes_on = not block.any(full)
            if goes_on:
                with partition(sorted, thread[1], offset=lambda place: place, races="none") as spot, group(thread[1]):
                    for k in range(ITEMS):
                        if k < mine:
                            rank: uint32 = ranks[k // 2] >> 16 * (k % 2) & 0xFFFF
                            spot[int32(bins[int32(keys[k] >> SHIFT)] + rank)] = keys[k]
                with partition(all, thread[1], offset=lambda place: place, races="none") as out, group(thread[1]):
                    for k in range(ITEMS):
                        here: int32 = t + k * THREADS
                        if here < many:
                            key: K = sorted[here]
                            out[int32(wrapping_add(targets[int32(key >> SHIFT)], uint32(here)))] = key
            else:
                match split(thread):
                    case 1:
                        atomic_or(failed[0], 1)
            tile = tile + blocks


@prism.kernel
@template(
    K=dtype, THREADS=constexpr(int), MOST=constexpr(int), BUCKETS=constexpr(int), BLOCKS=constexpr(int),
    LOG=constexpr(int, default=_LOG),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_groups(
    x: ptr(const(K)) @ grid[1], spare: ptr(const(K)) @ grid[1], y: ptr(K) @ grid[1], ends: ptr(const(uint32)) @ grid[1],
    failed: ptr(const(uint32)) @ grid[1], room: int32 @ grid[1], flip: K @ grid[1],
):
    """Sort each group that `move_to_groups` has left, and write it behind those before it; nothing where that has failed.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `spare`, `ends`, `failed`, `room`: of `move_to_groups`; `room` is at most `THREADS * MOST`. `x`: not read.
    Cost:        a read and a write of an element.
    Test:        tests/kernels/test_sort_groups.py
    """
    MANY: constexpr(int) = 1 << LOG
    EACH: constexpr(int) = MANY // THREADS
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with partition(y, block[1], offset=lambda place: place, races="none") as result, group(block[1]):
        t: int32 @ thread[1] = id()
        if failed[0] == 0:
            begins: shared(uint32[MANY + 1])
            few: K[MOST] @ thread[1]
            sums: uint32[EACH] @ thread[1]
            with group(thread[1]):
                for j in range(EACH):
                    sums[j] = ends[t * EACH + j]
            total: uint32 @ block[1] = block.scan(sums, 0, WIDTH=EACH, OP=operators.add, EXCLUSIVE=True)
            with partition(begins, thread[1], offset=t * EACH, races="none") as own, group(thread[1]):
                for j in range(EACH):
                    own[j] = sums[j]
                if t == THREADS - 1:
                    own[EACH] = total
            for g in range(me, MANY, blocks):
                start: int32 @ block[1] = int32(begins[g])
                many: int32 @ block[1] = int32(begins[g + 1]) - start
                with group(thread[1]):
                    for k in range(MOST):
                        few[k] = spare[g * room + t + k * THREADS] if t + k * THREADS < many else 0
                sort_part(
                    x, x, few, result, result, result, many, start, flip, K(0), VALUES=NONE, THREADS=THREADS, BATCH=_BATCH,
                    BUCKETS=BUCKETS, KIND=INTEGER,
                )


EXAMPLES = {
    "move_to_groups": {"K": "uint32", "THREADS": 512, "ITEMS": 32, "BLOCKS": 2},
    "sort_groups": {"K": "uint32", "THREADS": 512, "MOST": 36, "BUCKETS": 13, "BLOCKS": 1},
}
