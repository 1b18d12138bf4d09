"""A unit in a passage would wait for one outside."""

from __future__ import annotations

from prism.lang import block, grid, group, int32, prism, ptr, requires, roles, turns, warp


@prism("global")
@requires(grid[1], block[1], warp[4])
def case(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        workers, rest = roles(warp, 3, 1)
        with turns(workers):
            for k in range(2):
                with turns(workers):  # error: turns
                    pass
