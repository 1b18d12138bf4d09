from __future__ import annotations

from prism.lang import async_, bf16, block, const, grid, group, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        a: float[4] @ thread[1]
        with async_(a) as d:  # error: async
            pass
