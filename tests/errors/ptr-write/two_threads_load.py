from __future__ import annotations

from prism.lang import (
    CUtensorMap, bf16, block, claim, const, grid, group, prism, requires, roles, shared, split, thread, tma_load,
    warpgroup,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(map_x: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1]):
    with group(block[1]):
        a: shared(bf16[128, 64], ring=2, swizzle=128) @ block[1]
        consumers, producer = roles(warpgroup, 2, 1)
        with claim(a, producer) as now:
            match split(thread):
                case 1:
                    tma_load(now[0, 0], map_x[0, 0])
                case 1:
                    tma_load(now[64, 0], map_x[64, 0])  # error: ptr-write
