from __future__ import annotations

from prism.lang import grid, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(int) @ grid[1], n: int @ thread[1]):
    x[0] = n in x  # error: syntax
    if n > 0:
        x[1] = None  # error: syntax
    while x[0:2]:  # error: syntax
        del n  # error: syntax
