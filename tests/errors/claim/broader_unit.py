from __future__ import annotations

from prism.lang import block, claim, grid, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(int) @ block[1]):
    with claim(x, grid[1]) as own:  # error: claim
        m: int @ thread[1] = own[0]
