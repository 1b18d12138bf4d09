from __future__ import annotations

import prism
from prism.lang import block, float32, grid, group, id, int32, partition, ptr, requires, shared, thread


@prism.device
@requires(block[1], thread[32])
def cleared(n: int32 @ block[1]):
    row: shared(float32[n])  # error: shared-alloc
    t: int32 @ thread[1] = id()
    with partition(row, thread[1], t) as mine, group(thread[1]):
        mine[0] = 0


@prism.kernel
@requires(grid[1], block[1], thread[32])
def case(y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    with group(block[1]):
        cleared(n)
