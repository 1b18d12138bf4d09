from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[2], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[2]):
        s: shared(float[2, 128], ring=2) @ block[2]  # error: ring
