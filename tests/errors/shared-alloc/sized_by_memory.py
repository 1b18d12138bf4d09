from __future__ import annotations

from prism.lang import block, const, grid, group, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(int)) @ grid[1]):
    with group(block[1]):
        s: shared(int[x[0]])  # error: shared-alloc
