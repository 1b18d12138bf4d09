from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(y: ptr(float) @ grid[1]):
    with partition(y, thread[1], id()) as mine:  # error: partition
        with group(thread[1]):
            mine[0] = 1.0
