from __future__ import annotations

from prism.lang import grid, group, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(int) @ grid[1], n: int @ thread[1]):
    with group(thread[1]) as t:  # error: syntax
        x[0] = n
