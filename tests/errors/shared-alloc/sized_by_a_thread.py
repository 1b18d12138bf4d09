from __future__ import annotations

from prism.lang import block, grid, group, id, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    with group(block[1]):
        t: int @ thread[1] = id()
        s: shared(int[n + t])  # error: shared-alloc
