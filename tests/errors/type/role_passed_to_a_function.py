from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, roles, thread, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]):
        consumers, producer = roles(warpgroup, 2, 1)
        with group(thread[1]):
            m: int = min(n, producer)  # error: type
