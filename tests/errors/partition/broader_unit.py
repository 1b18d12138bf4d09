from __future__ import annotations

from prism.lang import block, const, grid, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(float)) @ block[1]):
    with partition(x, grid[1], 0) as all:  # error: partition
        v: float @ thread[1] = all[0]
