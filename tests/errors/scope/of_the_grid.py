from __future__ import annotations

from prism.lang import atomic_add, block, grid, group, int32, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(counter: ptr(int32) @ grid[1]):
    with group(thread[1]):
        atomic_add(counter[0], 1, scope="block")  # error: scope
