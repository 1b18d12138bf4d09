from __future__ import annotations

from prism.lang import block, grid, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    s: shared(int[4]) @ block[1]  # error: shared-alloc
