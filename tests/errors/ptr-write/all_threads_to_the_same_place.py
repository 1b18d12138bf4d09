from __future__ import annotations

from prism.lang import block, grid, group, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(int) @ grid[1], n: int @ grid[1]):
    with group(thread[1]):
        y[0] = n  # error: ptr-write
