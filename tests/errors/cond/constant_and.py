from __future__ import annotations

from prism.lang import block, grid, prism, requires, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    if 1 and n > 0:  # error: cond
        pass
