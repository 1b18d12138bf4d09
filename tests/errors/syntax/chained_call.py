from __future__ import annotations

from prism.lang import grid, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def f(n: int @ thread[1]) -> int @ thread[1]:
    return n


@prism("device")
@requires(thread[1])
def case(x: ptr(int) @ grid[1], n: int @ thread[1]):
    if 0 < f(n) < 10:  # error: syntax
        x[0] = n
