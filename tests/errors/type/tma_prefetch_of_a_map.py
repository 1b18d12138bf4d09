from __future__ import annotations

from prism.lang import CUtensorMap, bf16, const, grid, prism, requires, thread, tma_prefetch, group


@prism("global")
@requires(grid[1], thread[1])
def case(map_x: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1]):
    with group(thread[1]):
        tma_prefetch(map_x)  # error: type
