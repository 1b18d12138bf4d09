from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, roles, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]):
        all_roles[0] = roles(warpgroup, 2)  # error: syntax
