from __future__ import annotations

from prism.lang import CUtensorMap, block, const, float32, grid, group, one, prism, requires, shared, thread, tma_store


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: const(CUtensorMap(float32, 8, 32)) @ grid[1]):
    with group(block[1]):
        tile: shared(float32[8, 32])
        with one(thread):
            tma_store(y[0, 0], tile)  # error: const
