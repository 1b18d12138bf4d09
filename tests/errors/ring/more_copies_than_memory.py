from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(float[128], ring=2**20) @ block[1]  # error: ring
