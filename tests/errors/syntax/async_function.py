from __future__ import annotations

from prism.lang import grid, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
async def case(x: ptr(int) @ grid[1]):  # error: syntax
    pass
