"""Which way a table runs: up, down or neither."""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, template, thread,
)
from prism.lib.thread import operators

NEITHER, RISES, FALLS = 0, 1, 2
"""What `order_of_edges` says."""


@prism.kernel
@template(T=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def order_of_edges(edges: ptr(const(T)) @ grid[1], order: ptr(int64) @ grid[1], n: int64 @ grid[1]):
    """Make `order[0]` RISES where no element is below the one before, FALLS where none is above it, and else NEITHER.

    As NumPy says it of bins: where all are equal they rise, and NaN is neither below nor above. Then the first element that is
    another one than that before tells: they rise if it is above.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes:      `edges`: `n` elements, at least 2.
    Test:        tests/kernels/test_lookup.py
    """
    with partition(order, block[1], races="none") as out, group(block[1]):
        t: int32 @ thread[1] = id()
        rises: bool @ thread[1] = False
        falls: bool @ thread[1] = False
        first: int64 @ thread[1] = n  # before which an element is another one
        with group(thread[1]):
            for j in range(int64(t), n - 1, THREADS):
                rises = rises or edges[j] < edges[j + 1]
                falls = falls or edges[j] > edges[j + 1]
                first = min(first, j if edges[j] != edges[j + 1] else n)
        any_rises: bool @ block[1] = block.any(rises)
        any_falls: bool @ block[1] = block.any(falls)
        least: int64 @ block[1] = block.reduce(first, OP=operators.minimum)
        at: int64 @ block[1] = min(least, n - 2)
        upwards: bool @ block[1] = edges[at] < edges[at + 1]
        found: int64 @ block[1] = NEITHER
        if not any_rises:
            found = FALLS if least < n else RISES
        elif upwards and not any_falls:
            found = RISES
        block.fill(out, found, 1)


EXAMPLES = {"order_of_edges": {"T": "float64", "THREADS": 1024}}
