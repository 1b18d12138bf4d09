from __future__ import annotations

from prism.lang import block, grid, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[16, 16])  # error: bound-wf
def case(x: ptr(float) @ grid[1]):
    pass
