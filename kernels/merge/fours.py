"""Sorted runs merged four at a time, in any order, with values beside them: tiles of shared memory's size, by themselves."""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread,
)
from prism.kernels.merge.spots import put_row, put_striped, store_first
from prism.lib.block.sort import merge_within
from prism.lib.thread import operators


@prism.kernel
@template(
    T=dtype, V=dtype, N=dtype, LESS=function, VALUES=constexpr(bool), ITEMS=constexpr(int), THREADS=constexpr(int),
    BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_fours(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], x_values: ptr(const(V)) @ grid[1], y_values: ptr(V) @ grid[1],
    cuts: ptr(const(int64)) @ grid[1], width: int64 @ grid[1], n: int64 @ grid[1], tiles: int64 @ grid[1],
    otherwise: T @ grid[1],
):
    """Merge sorted runs four at a time, of equal elements those of the run before first; `VALUES` go where their keys go.

    Perspective: grid, a block for each of the `tiles`.
    Shapes:      `x`, `y`: `n` elements, not the same memory. `x` has sorted runs of `width`, the last of which may be shorter;
                 `LESS` is their order. A tile has `(THREADS - 1) * ITEMS` elements. `tiles`: of each four runs `ceil` of their
                 length, or of `4 * width`, by a tile. `cuts`: as `cut_four_runs` makes them. `N`: int32, where no four runs have
                 2^31 elements, or int64. `otherwise`: any.
    Cost:        each element is read once, and written once; two merge paths, and five accesses to shared memory an element.
    Source:      Odeh, Green et al., "Merge path - parallel merging made simple".
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = (THREADS - 1) * ITEMS
    SIZE: constexpr(int) = THREADS * ITEMS
    number: int64 @ block[1] = id()
    share: int64 @ block[1] = (4 * width + (TILE - 1)) // TILE
    begin: int64 @ block[1] = number // share * (4 * width)
    diagonal: int64 @ block[1] = number % share * TILE
    many: int32 @ block[1] = int32(min(max(min(n - begin, 4 * width) - diagonal, 0), TILE))
    with partition(y, block[1], offset=begin + diagonal, races="none") as target, \
         partition(y_values, block[1], offset=begin + diagonal, races="none") as value_target, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(T[SIZE]) @ block[1]
        moved: shared(V[SIZE if VALUES else 1]) @ block[1]
        heads: N[4] @ block[1]  # from an element's place in the tile to that in the runs
        ends: int32[4] @ block[1]  # of the parts of runs in the tile
        find_parts(cuts, number, diagonal, width, n - begin, tiles, many, heads, ends, TILE=TILE)
        keys: T[ITEMS] @ thread[1]
        values: V[ITEMS if VALUES else 1] @ thread[1]
        spots: int32[ITEMS] @ thread[1]
        with partition(x, block[1], offset=begin) as given:
            load_parts(given, heads, ends, keys, THREADS=THREADS)
        if VALUES:
            with partition(x_values, block[1], offset=begin) as beside:
                load_parts(beside, heads, ends, values, THREADS=THREADS)
        put_striped(tile, keys, THREADS=THREADS)
        if VALUES:
            put_striped(moved, values, THREADS=THREADS)
        rows: int32 @ block[1] = (ends[1] + (ITEMS - 1)) // ITEMS  # of the result of the first two
        lower: bool @ thread[1] = t >= rows
        first: int32 @ thread[1] = ends[1] if lower else 0
        end: int32 @ thread[1] = ends[3] if lower else ends[1]
        row: int32 @ thread[1] = (t - rows if lower else t) * ITEMS
        with group(thread[1]):
            merge_within(
                tile, first, ends[2] if lower else ends[0], end, row, keys, spots, otherwise, False, SIZE=SIZE, LESS=LESS,
            )
            if VALUES:
                for k in range(ITEMS):
                    values[k] = moved[spots[k]]
        put_row(tile, keys, first + row, end)
        if VALUES:
            put_row(moved, values, first + row, end)
        with group(thread[1]):
            merge_within(tile, 0, ends[1], ends[3], t * ITEMS, keys, spots, otherwise, False, SIZE=SIZE, LESS=LESS)
            if VALUES:
                for k in range(ITEMS):
                    values[k] = moved[spots[k]]
        put_row(tile, keys, t * ITEMS, SIZE)
        if VALUES:
            put_row(moved, values, t * ITEMS, SIZE)
        store_first(target, tile, ends[3], ITEMS=ITEMS, THREADS=THREADS)
        if VALUES:
            store_first(value_target, moved, ends[3], ITEMS=ITEMS, THREADS=THREADS)


@prism.device
@requires(block[1])
@template(N=dtype, TILE=constexpr(int))
def find_parts(
    cuts: ptr(const(int64)) @ grid[1], number: int64 @ block[1], diagonal: int64 @ block[1], width: int64 @ block[1],
    length: int64 @ block[1], tiles: int64 @ block[1], many: int32 @ block[1], heads: N[4] @ block[1], ends: int32[4] @ block[1],
):
    """Say which parts of its four runs tile `number` has: `ends` in the tile, one behind the other, and `heads`.

    Where `LESS` is no order they may have fewer than `many` elements together, never more, and the rest of `y` stays as it is.
    """
    rest: int64 @ block[1] = diagonal
    left: int64 @ block[1] = diagonal + many
    end: int32 @ block[1] = 0
    for r in range(4):
        from_here: int64 @ block[1] = cuts[r * tiles + number] if r < 3 else rest
        rest = rest - from_here
        until: int64 @ block[1] = min(max(length - r * width, 0), width)
        if diagonal + TILE < min(length, 4 * width):
            until = cuts[r * tiles + number + 1] if r < 3 else left
        left = left - until
        heads[r] = N(min(r * width, length) + from_here) - N(end)
        end = min(end + int32(min(max(until - from_here, 0), TILE)), many)
        ends[r] = end


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, N=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def load_parts(
    x: ptr(const(T)) @ block[1], heads: N[4] @ block[1], ends: int32[4] @ block[1], items: T[ITEMS] @ thread[1],
):
    """Load parts of four runs, one behind the other, into striped registers; behind them the last element again.

    All reads are under way at once.
    """
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for k in range(ITEMS):
            place: int32 = min(k * THREADS + t, ends[3] - 1)
            head: N = heads[0] if place < ends[0] else heads[1] if place < ends[1] else heads[2] if place < ends[2] else heads[3]
            items[k] = x[head + place]


EXAMPLES = {
    "merge_fours": {
        "T": "float32", "V": "int32", "N": "int32", "LESS": operators.less, "VALUES": False, "ITEMS": 15, "THREADS": 256,
        "BLOCKS": 4,
    },
}
