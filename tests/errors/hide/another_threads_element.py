from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    with group(block[1]):
        t: int @ thread[1] = id()
        tile: shared(float[32])
        mine: float @ thread[1] = 1.0
        with partition(tile, thread[1], t) as slot, group(thread[1]):
            slot[0] = mine + tile[31 - t]  # error: hide
