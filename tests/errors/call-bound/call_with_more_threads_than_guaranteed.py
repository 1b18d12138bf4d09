from __future__ import annotations

from prism.lang import block, grid, prism, requires, thread


@prism("device")
@requires(block[1], thread[128])
def stage(n: int @ block[1]):
    m: int @ thread[1] = n


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    stage(n)  # error: call-bound
