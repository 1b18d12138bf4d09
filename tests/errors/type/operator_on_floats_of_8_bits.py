from __future__ import annotations

from prism.lang import const, float8_e4m3fn, grid, group, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(x: ptr(const(float8_e4m3fn)) @ grid[1], y: ptr(float) @ grid[1]):
    with partition(y, thread[1], id()) as out:
        i: int @ thread[1] = id()
        with group(thread[1]):
            out[0] = x[i] * x[i]  # error: type
