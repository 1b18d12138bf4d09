from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(int) @ grid[1], n: int @ grid[1]):
    i: int @ thread[1] = id()
    with partition(y, thread[1], i) as mine:
        with group(thread[1]):
            if i >= n:
                return  # error: jump
            mine[0] = i
        with group(thread[1]):
            mine[0] += 1
