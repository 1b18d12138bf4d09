from __future__ import annotations

from prism.lang import (
    block, const, fragment, grid, group, half, prism, ptr, requires, shared, warpgroup, wgmma, wgmma_async,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[1])
def case(x: ptr(const(half)) @ grid[1]):
    with group(block[1]):
        a: shared(half[64, 64], swizzle=128) @ block[1]
        p: fragment(half, 64, 64) @ warpgroup[1]
        acc: fragment(float, 64, 64) @ warpgroup[1]
        with group(warpgroup[1]), wgmma_async():
            wgmma(p, a, a, accumulate=False)
            wgmma(acc, p, a, accumulate=False)  # error: race
