from __future__ import annotations

from prism.lang import async_, block, grid, group, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(float) @ grid[1]):
    with partition(y, block[1], 0) as part, group(block[1]):
        with async_(part) as d:  # error: async
            pass
