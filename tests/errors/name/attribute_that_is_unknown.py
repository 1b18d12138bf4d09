from __future__ import annotations

from prism.lang import attr, grid, prism, ptr, requires, thread


@prism("global")
@attr("__nv_pure__")  # error: name
@requires(grid[1], thread[32])
def case(x: ptr(int) @ grid[1]):
    t: int @ thread[1] = 0
