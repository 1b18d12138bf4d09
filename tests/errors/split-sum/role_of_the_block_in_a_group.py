from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, roles, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]):
        consumers, producer = roles(warpgroup, 2, 1)
        with group(warpgroup[1]), producer:  # error: split-sum
            pass
