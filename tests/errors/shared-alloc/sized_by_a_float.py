from __future__ import annotations

from prism.lang import block, float32, grid, group, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: float32 @ grid[1]):
    with group(block[1]):
        s: shared(int[n])  # error: shared-alloc
