from __future__ import annotations

from prism.lang import float32, grid, group, id, int32, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[32])
def case(y: ptr(float32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], lambda: i) as mine, group(thread[1]):
        mine[0] = 1  # error: type
