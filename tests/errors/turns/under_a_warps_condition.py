"""Some units come more often than others."""

from __future__ import annotations

from prism.lang import block, grid, group, id, int32, prism, ptr, requires, roles, turns, warp


@prism("global")
@requires(grid[1], block[1], warp[4])
def case(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        workers, rest = roles(warp, 3, 1)
        with workers:
            w: int32 @ warp[1] = id()
            with group(warp[1]):
                for k in range(w):
                    with turns(workers):  # error: turns
                        pass
