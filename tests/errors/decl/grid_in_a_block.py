from __future__ import annotations

from prism.lang import block, grid, prism, requires, thread


@prism("device")
@requires(block[1], thread[1])
def case(n: int @ grid[1]):
    x: int @ grid[1] = 0  # error: decl
