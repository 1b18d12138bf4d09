from __future__ import annotations

from prism.lang import claim, grid, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(int) @ grid[1], n: int @ thread[1]):
    with claim(x, thread[1], p=thread[32]) as y:  # error: syntax
        y[0] = n
