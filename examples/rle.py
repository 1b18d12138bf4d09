"""Run-length encoding: the values of an array's runs of equal elements, and their lengths."""

import numpy as np

import prism
from prism.lang import block, const, constexpr, grid, group, id, int32, partition, ptr, requires, template, thread
from prism.lib.thread import operators

THREADS, ITEMS = 128, 4
TILE = THREADS * ITEMS


@prism("global")
@template(COUNTING=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def runs(
    x: ptr(const(int32)) @ grid[1], ranks: ptr(const(int32)) @ grid[1], counts: ptr(int32) @ grid[1],
    starts: ptr(int32) @ grid[1], n: int32 @ grid[1],
):
    b: int32 @ block[1] = id()
    i: int32 @ thread[1] = id()
    before: int32 @ block[1] = x[max(b * TILE - 1, 0)]
    with partition(counts, block[1], b) as own, partition(starts, thread[1]) as start, group(block[1]):
        items: int32[ITEMS] @ thread[1]
        heads: bool[ITEMS] @ thread[1]
        places: int32[ITEMS] @ thread[1]
        with partition(x, block[1], b * TILE) as source:
            block.load_transposed(source, items, n - b * TILE, 0, THREADS=THREADS)
        block.heads(items, heads, before, b == 0, WIDTH=ITEMS, DIFFERENT=operators.not_equal)
        with group(thread[1]):
            for k in range(ITEMS):
                heads[k] = heads[k] and i * ITEMS + k < n
                places[k] = 1 if heads[k] else 0
        if COUNTING:  # how many runs begin in this tile
            block.reduce_into(own, thread.reduce(places, OP=operators.add), OP=operators.add)
        else:  # where each one begins; `ranks` has how many begin in the tiles before
            rank: int32 @ block[1] = ranks[b]
            block.scan_initial(places, rank, WIDTH=ITEMS, OP=operators.add, EXCLUSIVE=True)
            with group(thread[1]):
                for k in range(ITEMS):
                    if heads[k]:
                        start[places[k]] = i * ITEMS + k


def encoded(x):
    """Return the values and the lengths of the runs of an int32 array of NumPy or CuPy: of one dimension, not empty."""
    counts = x[: -(-x.size // TILE)].copy()
    runs[counts.size, THREADS](x, x, counts, x[:0].copy(), x.size, template={"COUNTING": True})
    ends = prism.lib.scan(counts)
    starts = x[: int(ends[-1])].copy()
    runs[counts.size, THREADS](x, ends - counts, counts, starts, x.size, template={"COUNTING": False})
    lengths = x.size - starts
    lengths[:-1] = starts[1:] - starts[:-1]
    return x[starts], lengths


if __name__ == "__main__":
    x = np.repeat(np.arange(3000, dtype=np.int32) % 7, np.random.default_rng(0).integers(1, 9, 3000))
    print(f"{x.size} elements are {encoded(x)[0].size} runs, and come back:", np.array_equal(np.repeat(*encoded(x)), x))
