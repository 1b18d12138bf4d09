from __future__ import annotations

from prism.lang import block, grid, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(flags: ptr(int) @ grid[1], n: int @ block[1]):
    while flags[0] == 0:  # error: cond
        m: int @ thread[1] = n
