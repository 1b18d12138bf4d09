"""A role of a cluster's blocks."""

from __future__ import annotations

from prism.lang import block, grid, group, int32, prism, ptr, requires, roles, turns, warp


@prism("global")
@requires(grid[1], block[2], warp[2])
def case(y: ptr(int32) @ grid[1]):
    with group(block[2]):
        left, right = roles(block, 1, 1)
        with turns(left):  # error: turns
            pass
