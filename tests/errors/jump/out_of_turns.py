"""A round left half done."""

from __future__ import annotations

from prism.lang import block, grid, group, int32, prism, ptr, requires, roles, turns, warp


@prism("global")
@requires(grid[1], block[1], warp[4])
def case(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with group(block[1]):
        workers, rest = roles(warp, 3, 1)
        for k in range(n):
            with turns(workers):
                if k == 3:
                    break  # error: jump
