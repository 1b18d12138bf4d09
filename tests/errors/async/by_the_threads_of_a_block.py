from __future__ import annotations

from prism.lang import async_, block, const, cp_async, grid, group, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[128])
def case(x: ptr(const(float)) @ grid[1]):
    with group(block[1]):
        s: shared(float[128]) @ block[1]
        with group(thread[1]), async_(s) as d:  # error: async
            cp_async(d[0], x[0], 4)
