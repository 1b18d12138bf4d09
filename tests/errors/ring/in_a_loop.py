from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    for k in range(n):
        with group(block[1]):
            s: shared(float[128], ring=2) @ block[1]  # error: ring
