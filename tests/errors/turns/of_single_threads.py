"""A role counted in threads."""

from __future__ import annotations

from prism.lang import block, grid, group, int32, prism, ptr, requires, roles, thread, turns


@prism("global")
@requires(grid[1], block[1], thread[64])
def case(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        left, right = roles(thread, 32, 32)
        with turns(left):  # error: turns
            with left, group(thread[1]):
                pass
