from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], id() * 1024) as tile:
        with group(block[1]):
            t: int @ thread[1] = id()
            if t < n:  # error: cond
                with partition(tile, thread[1], t) as mine:
                    with group(thread[1]):
                        mine[0] = 1.0
