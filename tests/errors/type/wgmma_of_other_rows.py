from __future__ import annotations

from prism.lang import (
    bf16, block, claim, const, fragment, grid, group, one, prism, ptr, requires, shared, warpgroup, wgmma,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        b: shared(bf16[64, 64], ring=2, swizzle=128) @ block[1]
        acc: fragment(float, 64, 64) @ warpgroup[1]
        p: fragment(bf16, 128, 64) @ warpgroup[1]
        with claim(b, warpgroup[1]) as now, one(warpgroup):
            wgmma(acc, p, now)  # error: type
