from __future__ import annotations

from prism.lang import const, float4, float32, float64, grid, group, int32, load_vector, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(x: ptr(const(float32)) @ grid[1], z: ptr(const(int32)) @ grid[1], d: float64 @ grid[1]):
    with group(thread[1]):
        v: float4 @ thread[1] = load_vector(x[0], 4) * d  # error: type
