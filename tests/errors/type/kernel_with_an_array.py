from __future__ import annotations

from prism.lang import grid, prism, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(a: int[4] @ thread[1]):  # error: type
    n: int = 0
