from __future__ import annotations

from prism.lang import block, claim, grid, group, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(C: ptr(float) @ grid[1]):
    with claim(C, block[1]) as tile:
        with group(block[1]):
            v: float @ thread[1] = tile[0]  # error: claim-one
