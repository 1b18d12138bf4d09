from __future__ import annotations

from prism.lang import (
    CUtensorMap, block, claim, const, grid, group, half, one, prism, requires, shared, thread, tma_load,
)


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(k: const(CUtensorMap(half, 1, 16, 4, 64, swizzle=128)) @ grid[1]):
    with group(block[1]):
        a: shared(half[32, 64], ring=2, swizzle=128)
        with claim(a, thread[1]) as now, one(thread):
            tma_load(now, k[0, 0, 0, 0])  # error: type
