from __future__ import annotations

from prism.lang import block, fragment, grid, prism, requires, thread, warpgroup


@prism("global")
@requires(grid[1], block[1], thread[128])
def case(acc: fragment(float, 64, 64) @ warpgroup[1]):  # error: type
    n: int = 0
