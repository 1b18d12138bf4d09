from __future__ import annotations

from prism.lang import block, grid, group, one, prism, requires, thread, warp


@prism("global")
@requires(grid[1], block[1], thread[1])
def case(n: int @ grid[1]):
    with group(block[1]), one(warp):  # error: split-sum
        pass
