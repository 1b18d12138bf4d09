from __future__ import annotations

from prism.lang import block, grid, prism, requires, thread


@prism("device")
@requires(grid[1], block[1], thread[32], cooperative=True)
def together(n: int @ grid[1]):
    m: int @ thread[1] = n


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    together(n)  # error: call-bound
