from __future__ import annotations

from prism.lang import grid, prism, ptr


@prism("global")
def case(x: ptr(int) @ grid[1]):  # error: bound-wf
    n: int @ grid[1] = 1
