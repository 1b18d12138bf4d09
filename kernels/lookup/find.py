"""Where the first element is of which something holds: blocks go on until one has found it.

Tiles are taken in order by blocks that run at once, so the first tiles are looked at first. Each block reads the best place so
far before each tile, and stops where that is before it. A place is kept as how many elements stand from there on: the first is
the largest, and nothing is 0, as in memory that nobody has written to.
"""

from prism.lang import (
    atomic_add, atomic_max, attr, block, claim, const, constexpr, count, dtype, function, grid, group, id, int32, int64,
    load_relaxed, partition, prism, ptr, requires, shared, split, store_relaxed, template, thread, uint64,
)
from prism.kernels.select.conditions import is_set
from prism.lib.thread import operators


@prism.kernel
@template(
    M=dtype, C=dtype, TEST=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def find_first(
    mask: ptr(const(M)) @ grid[1], y: ptr(int64) @ grid[1], n: int64 @ grid[1], skew: int32 @ grid[1], unset: C @ grid[1],
    control: ptr(uint64) @ grid[1],
):
    """`y[0]` becomes the first `i` for which `TEST(mask[i])`; -1 where there is none.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `mask`: `n` elements, at least one, that are converted to `C`. `skew`: how many elements it begins past one that
                 is aligned to `WIDTH` of them; -1: it is not known. `unset`: what the test is not true of. `control`: two words,
                 zero at first, and of no other use at the same time; they are zero again at the end.
    Test:        tests/kernels/test_lookup.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    blocks: int32 @ grid[1] = count(block[1])
    here: int32 @ block[1] = id()
    with partition(y, block[1], offset=0, races="none") as result, group(block[1]):  # one block alone writes
        cell: shared(uint64[1])
        start: int64 @ block[1] = int64(here) * TILE
        known: uint64 @ block[1] = 0
        while start < n and known <= uint64(n - start):
            many: int32 @ block[1] = int32(min(n - start, TILE))
            seen: uint64 @ thread[1] = 0
            match split(thread):
                case 1:
                    seen = load_relaxed(control[0])  # it comes beside the elements
            marks: C[ITEMS] @ thread[1]
            with partition(mask, block[1], offset=start) as source:
                block.load_tile(source, marks, many, unset, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=True)
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            left: uint64 @ thread[1] = 0
            with group(thread[1]):
                for k in range(ITEMS - 1, -1, -1):
                    within: int32 = at + (k // WIDTH * 32 * WIDTH + k % WIDTH)
                    if within < many and TEST(marks[k]):
                        left = uint64(n - start - within)
            most: uint64 @ thread[1] = block.reduce_to_first(left, 0, OP=operators.maximum, MOST=THREADS, TENSOR=False)
            with claim(cell, thread[1]) as own:
                match split(thread):
                    case 1:
                        if most != 0:
                            atomic_max(control[0], most)
                        own[0] = max(seen, most)
            known = cell[0]
            start = start + int64(blocks) * TILE
        with claim(result, thread[1]) as own:
            match split(thread):
                case 1:
                    if atomic_add(control[1], 1, order="acq_rel") == uint64(blocks - 1):  # the last one
                        best: uint64 = load_relaxed(control[0])
                        own[0] = n - int64(best) if best != 0 else -1
                        store_relaxed(control[0], 0)
                        store_relaxed(control[1], 0)


EXAMPLES = {
    "find_first": {
        "M": "uint8", "C": "uint8", "TEST": is_set, "THREADS": 256, "ITEMS": 32, "WIDTH": 16, "BLOCKS": 5,
    },
}
