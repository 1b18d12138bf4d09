from __future__ import annotations

from prism.lang import (
    bf16, block, claim, const, grid, group, one, prism, ptr, requires, shared, thread, warpgroup, wgmma,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        a: shared(bf16[64, 64], ring=2, swizzle=128) @ block[1]
        acc: float[32] @ thread[1]
        with claim(a, warpgroup[1]) as now, one(warpgroup):
            wgmma(acc, now, now)  # error: type
