from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[1])
def case(y: ptr(int) @ grid[1], n: int @ grid[1]):
    with partition(y, thread[1], offset=id()) as mine:
        with group(thread[1]):
            if id() < n:  # error: id
                mine[0] = n
