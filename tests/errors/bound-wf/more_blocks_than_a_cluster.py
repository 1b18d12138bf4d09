from __future__ import annotations

from prism.lang import block, grid, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[2**40], thread[32])  # error: bound-wf
def case(y: ptr(int) @ grid[1]):
    n: int = 1
