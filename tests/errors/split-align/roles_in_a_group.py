from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, roles, thread


@prism("global")
@requires(grid[1], block[1], thread[96])
def case(n: int @ grid[1]):
    with group(block[1]), group(thread[96]):
        front, back = roles(thread, 64, 32)  # error: split-align
