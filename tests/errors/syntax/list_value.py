from __future__ import annotations

from prism.lang import grid, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(int) @ grid[1], n: int @ thread[1]):
    y: int32 = [1, 2, n][0]  # error: syntax
