"""More units than named barriers."""

from __future__ import annotations

from prism.lang import attr, block, grid, group, int32, prism, ptr, requires, roles, turns, warp


@prism("global")
@attr("__launch_bounds__(512, 1)")
@requires(grid[1], block[1], warp[16])
def case(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with group(block[1]):
        workers, = roles(warp, 16)
        for k in range(n):
            with turns(workers):  # error: turns
                pass
