from __future__ import annotations

from prism.lang import (
    CUtensorMap, bf16, block, claim, const, grid, group, prism, requires, roles, shared, tma_load, warpgroup,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(map_x: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1]):
    with group(block[1]):
        a: shared(bf16[64, 64], ring=2, swizzle=128) @ block[1]
        consumers, producer = roles(warpgroup, 2, 1)
        with claim(a, producer) as now:
            tma_load(now, map_x[0, 0])  # error: ptr-write
