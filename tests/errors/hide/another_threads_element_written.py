from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    with group(block[1]):
        t: int @ thread[1] = id()
        tile: shared(float[32])
        with partition(tile, thread[1], lambda i: t + i) as slot, group(thread[1]):
            slot[0] = 1.0
            tile[31 - t] = 2.0  # error: hide
