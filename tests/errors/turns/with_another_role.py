"""Another role in the passage."""

from __future__ import annotations

from prism.lang import block, grid, group, id, int32, partition, prism, ptr, requires, roles, thread, turns, warp


@prism("global")
@requires(grid[1], block[1], warp[4])
def case(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        workers, rest = roles(warp, 3, 1)
        with turns(workers):
            with rest, group(thread[1]):  # error: turns
                mine[0] = 1
