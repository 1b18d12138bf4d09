from __future__ import annotations

from prism.lang import (
    CUtensorMap, bf16, block, const, grid, group, one, partition, prism, ptr, requires, thread, tma_load,
)


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(bf16) @ grid[1], map_x: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1]):
    with partition(y, thread[1], 0) as mine, group(block[1]), one(thread):
        tma_load(mine[0], map_x[0, 0])  # error: type
