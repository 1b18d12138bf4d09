from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(float[32, 32], swizzle=128) @ block[1]
        p: ptr(float) @ block[1] = s  # error: ptr-rebind
