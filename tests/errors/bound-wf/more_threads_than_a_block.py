from __future__ import annotations

from prism.lang import block, grid, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[65536])  # error: bound-wf
def case(y: ptr(int) @ grid[1]):
    n: int = 1
