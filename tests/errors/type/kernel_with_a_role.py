from __future__ import annotations

from prism.lang import block, grid, group, id, prism, requires, roles, thread, warp


@prism("global")
@requires(grid[1], block[1], warp[2])
def case(loader: roles(warp, 1)):  # error: type
    with group(block[1]), loader:
        t: int @ thread[1] = id()
