from __future__ import annotations

from prism.lang import (
    block, claim, const, fragment, grid, group, half, one, prism, ptr, requires, shared, warpgroup, wgmma,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(x: ptr(const(half)) @ grid[1]):
    with group(block[1]):
        b: shared(half[64, 64], ring=2, swizzle=128) @ block[1]
        acc: fragment(half, 64, 64) @ warpgroup[1]
        with claim(b, warpgroup[1]) as now, one(warpgroup):
            wgmma(acc, acc, now)  # error: type
