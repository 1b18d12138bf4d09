from __future__ import annotations

import prism
from prism.lang import block, float32, grid, group, id, int32, partition, ptr, requires, shared, thread


@prism.kernel
@requires(grid[1], block[1], thread[32])
def case(y: ptr(float32) @ grid[1], rows: int32 @ grid[1], wide: int32 @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        tile: shared(float32[rows + 2][wide])  # error: shared-alloc
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            mine[0] = t
