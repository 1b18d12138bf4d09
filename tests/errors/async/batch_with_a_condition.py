from __future__ import annotations

from prism.lang import (
    bf16, block, claim, fragment, grid, group, prism, requires, roles, shared, warpgroup, wgmma, wgmma_async,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]):
        a: shared(bf16[64, 64], ring=2, swizzle=128) @ block[1]
        acc: fragment(float, 64, 64) @ warpgroup[1]
        one_group, = roles(warpgroup, 1)
        for k in range(n):
            with claim(a, one_group) as now:
                with wgmma_async():
                    if k > 0:  # error: async
                        wgmma(acc, now, now)
