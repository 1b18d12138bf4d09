from __future__ import annotations

from prism.lang import float32, grid, group, id, int32, partition, prism, ptr, requires, thread


@prism.kernel
@requires(grid[1], thread[32])
def case(y: ptr(float32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as part, group(thread[1]):
        y[i] = 1  # error: hide
