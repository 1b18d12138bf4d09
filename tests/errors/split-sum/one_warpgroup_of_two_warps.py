from __future__ import annotations

from prism.lang import block, grid, group, one, prism, requires, roles, warp, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]):
        consumers, producer = roles(warp, 2, 2)
        with producer, one(warpgroup):  # error: split-sum
            pass
