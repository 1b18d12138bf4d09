from __future__ import annotations

from prism.lang import const, float32, grid, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(const(float32)) @ grid[1]) -> int @ thread[1]:
    return x.size  # error: type
