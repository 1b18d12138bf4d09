from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    with group(block[1]):
        for k in range(1, n):
            s: shared(int[k])  # error: shared-alloc
