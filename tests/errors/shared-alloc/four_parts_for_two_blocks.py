from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[2], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[2]):
        s: shared(float[4, 128])  # error: shared-alloc
