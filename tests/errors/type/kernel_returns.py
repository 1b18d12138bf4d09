from __future__ import annotations

from prism.lang import block, grid, prism, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[1])
def case(n: int @ grid[1]):
    return n  # error: type
