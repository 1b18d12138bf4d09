from __future__ import annotations

from prism.lang import block, bulk_load, const, float32, grid, one, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(p: ptr(float32) @ block[1], x: ptr(const(float32)) @ grid[1]):
    with one(thread):
        bulk_load(p[0], x[0], 64)  # error: ring
