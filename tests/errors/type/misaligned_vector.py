from __future__ import annotations

from prism.lang import const, float4, float4_cast, grid, group, id, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(x: ptr(const(float)) @ grid[1]):
    t: int @ thread[1] = 8 * id()
    with group(thread[1]):
        v: float4 = float4_cast(x[t + 2])  # error: type
