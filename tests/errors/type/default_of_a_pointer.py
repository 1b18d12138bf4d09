from __future__ import annotations

from prism.lang import grid, int32, ptr, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(int32) @ grid[1] = 0):  # error: type
    x[0] = 1
