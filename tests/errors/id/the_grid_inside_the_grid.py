from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[1])
def case(y: ptr(int) @ grid[1]):
    if id() == 0:  # error: id
        with partition(y, thread[1], offset=id()) as mine:
            with group(thread[1]):
                mine[0] = 1
