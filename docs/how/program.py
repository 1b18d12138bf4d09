"""The program that the pages of this folder follow through the compiler."""
# ruff: noqa: F821, I001 -- names that the kernel declares

import prism
from prism.lang import (
    attr, block, bulk_load, claim, const, float32, grid, group, id, int32, one, partition, ptr, requires, roles,
    shared, thread, warp,
)  # fmt: skip


@prism.kernel
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3])
def steps(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], rows: int32 @ grid[1]):
    """The sum of each column of a matrix of 64, less that of the column to its left."""
    with partition(y, block[1], 64 * id()) as y_block, group(block[1]):
        row: shared(float32[64], ring=2)
        sums: shared(float32[64])
        adders, loader = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for k in range(rows):
            with claim(row, loader) as coming, one(thread):
                bulk_load(coming, x[64 * k])
            with claim(row, adders) as here, group(thread[1]):
                total += here[t]
        with partition(sums, thread[1], t) as slot, adders, group(thread[1]):
            slot[0] = total
        with partition(y_block, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = sums[t] - (sums[t - 1] if t > 0 else 0)
