from __future__ import annotations

from prism.lang import block, grid, prism, ptr, requires, thread


@prism("global")
@requires(block[1], thread[32])  # error: bound-wf
def case(x: ptr(int) @ grid[1]):
    n: int @ block[1] = 1
