from __future__ import annotations

from prism.lang import atomic_add, grid, group, id, int2, int32, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[32])
def case(x: ptr(int2) @ grid[1]):
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        atomic_add(x[t], 1)  # error: type
