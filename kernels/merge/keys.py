"""Integers alone, merged and sorted by merging: equal ones are the same in all bits, so networks may exchange them."""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread, warp,
)
from prism.kernels.merge.rows import load_two, merge_four, merge_rows, store_rows
from prism.lib.thread import operators


@prism("global")
@template(
    T=dtype, N=dtype, LESS=function, WAYS=constexpr(int), ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_keys(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], cuts: ptr(const(int64)) @ grid[1],
    width: int64 @ grid[1], n: int64 @ grid[1], middle: int64 @ grid[1], tiles: int64 @ grid[1], otherwise: T @ grid[1],
):
    """Merge sorted runs, `WAYS` at a time, two or four.

    Perspective: grid, a block for each of the `tiles`.
    Shapes:      `y`: `n` elements, memory of neither `a` nor `b`. `width` 0: `a` has `middle` elements, and `b` the others;
                 else both are the same `n` elements, in sorted runs of `width`, the last of which may be shorter. `LESS` is their
                 order; elements of which neither is less are the same in all bits. A tile has `THREADS * ITEMS` elements, of
                 four runs `ITEMS` less. `N`: int32, where no group of runs has 2^31 elements, or int64. `tiles`: of each group
                 of runs `ceil` of its length, or of `WAYS * width`, by a tile. `cuts`: as `cut_runs` or `cut_four_runs` makes
                 them. `otherwise`: any.
    Cost:        each element is read once, and written once.
    Source:      as of `merge_rows`.
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS - (ITEMS if WAYS == 4 else 0)
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    number: int64 @ block[1] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as target, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(T[THREADS * (ITEMS + 1)]) @ block[1]
        share: int64 @ block[1] = (WAYS * width + (TILE - 1)) / TILE if width > 0 else tiles
        begin: int64 @ block[1] = number / share * (WAYS * width)
        diagonal: int64 @ block[1] = number % share * TILE
        length: int64 @ block[1] = n - begin if width == 0 else min(n - begin, WAYS * width)
        many: int32 @ block[1] = int32(min(max(length - diagonal, 0), TILE))
        firsts: int64[WAYS] @ block[1]  # where the tile begins in the runs
        sizes: int32[WAYS] @ block[1]  # how many elements it has of each
        rest: int64 @ block[1] = diagonal
        left: int64 @ block[1] = diagonal + many
        for r in range(WAYS):
            firsts[r] = cuts[r * tiles + number] if r < WAYS - 1 else rest
            rest = rest - firsts[r]
            until: int64 @ block[1] = min(max(n - begin - r * width, 0), width) if width > 0 else middle if r == 0 else n - middle
            if diagonal + TILE < length:
                until = cuts[r * tiles + number + 1] if r < WAYS - 1 else left
            left = left - until
            sizes[r] = int32(until - firsts[r]) if many > 0 else 0
        items: T[ITEMS] @ thread[1]
        if WAYS == 4:
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = otherwise
            heads: N[WAYS] @ block[1]  # in the group
            for r in range(WAYS):
                heads[r] = N(r * width + firsts[r])
            with partition(a, block[1], offset=begin) as given:
                merge_four(given, heads, sizes, tile, items, ITEMS=ITEMS, THREADS=THREADS, LESS=LESS)
        else:
            with partition(a, block[1], offset=begin + firsts[0]) as one, \
                 partition(b, block[1], offset=begin + width + firsts[1]) as other:
                load_two(one, sizes[0], other, sizes[1], tile, otherwise, ITEMS=ITEMS, THREADS=THREADS, LESS=LESS)
            merge_rows(
                tile, 0, THREADS, TILE - sizes[1], sizes[1], items, ITEMS=ITEMS, THREADS=THREADS, WHOLE=True, LESS=LESS,
            )
        store_rows(tile, items, t, False, ITEMS=ITEMS)
        with group(thread[1]):
            at: int64 = begin + diagonal + t
            if many == THREADS * ITEMS:
                for k in range(ITEMS):
                    target[at + k * THREADS] = tile[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]
            else:
                for k in range(ITEMS):
                    if k * THREADS < many - t:
                        target[at + k * THREADS] = tile[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]


@prism("global")
@template(T=dtype, LESS=function, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_keys(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int64 @ grid[1]):
    """Sort each tile of `THREADS * ITEMS` elements of `x`, so that none is `LESS` than the one before it, into `y`.

    Perspective: grid, a block for each tile.
    Shapes:      `x`, `y`: `n` elements, at least one; they may not be the same memory. Elements of which neither is less are the
                 same in all bits.
    Cost:        a read and a write; a warp sorts what its threads have, and then `merge_rows` doubles runs.
    Test:        tests/kernels/test_merge.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    start: int64 @ block[1] = int64(TILE) * id()
    with partition(y, block[1], offset=start) as target, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(T[THREADS * (ITEMS + 1)]) @ block[1]
        many: int32 @ block[1] = int32(min(n - start, TILE))
        items: T[ITEMS] @ thread[1]
        last: T @ block[1] = x[start]  # what no element of the tile is behind: it fills up a tile that is not whole
        with partition(x, block[1], offset=start) as source:
            block.load_striped(source, items, many, last)
        if many < TILE:
            @requires(thread[1])
            def later(one: T @ thread[1], other: T @ thread[1]) -> T @ thread[1]:
                return other if LESS(one, other) else one

            last = block.reduce(thread.reduce(items, OP=later), OP=later)
            with group(thread[1]):
                for k in range(ITEMS):
                    if k * THREADS + t >= many:
                        items[k] = last
        warp.sort(items, SIZE=32, LESS=LESS, TOTAL=True)
        width: int32 @ block[1] = 32  # so many threads hold a sorted run together
        while width < THREADS:
            inside: int32 @ thread[1] = t % (2 * width)
            store_rows(tile, items, t ^ width - 1 if inside >= width else t, inside >= width, ITEMS=ITEMS)
            merge_rows(
                tile, t - inside, 2 * width, width * ITEMS, width * ITEMS, items, ITEMS=ITEMS, THREADS=THREADS, WHOLE=True,
                LESS=LESS,
            )
            width = 2 * width
        store_rows(tile, items, t, False, ITEMS=ITEMS)
        with partition(target, thread[1], offset=t) as own, group(thread[1]):
            for k in range(ITEMS):
                if k * THREADS < many - t:
                    own[k * THREADS] = tile[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]


EXAMPLES = {
    "merge_keys": {
        "T": "int32", "N": "int32", "LESS": operators.less, "WAYS": 4, "ITEMS": 16, "THREADS": 256, "BLOCKS": 4,
    },
    "sort_keys": {"T": "int32", "LESS": operators.less, "ITEMS": 16, "THREADS": 256, "BLOCKS": 3},
}
