from __future__ import annotations

from prism.lang import (
    bf16, block, claim, const, grid, group, one, prism, ptr, requires, shared, thread, tma_load,
)


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        a: shared(bf16[64, 64], ring=2, swizzle=128) @ block[1]
        with claim(a, thread[1]) as now, one(thread):
            tma_load(now, x[0])  # error: type
