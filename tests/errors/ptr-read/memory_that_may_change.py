from __future__ import annotations

from prism.lang import block, grid, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(flags: ptr(int) @ grid[1]):
    ready: int @ block[1] = flags[0]  # error: ptr-read
