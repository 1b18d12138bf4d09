from __future__ import annotations

from prism.lang import block, claim, const, cp_async, grid, group, one, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[128])
def case(x: ptr(const(float)) @ grid[1]):
    with group(block[1]):
        s: shared(float[128]) @ block[1]
        with claim(s, thread[1]) as mine, one(thread):
            cp_async(mine[0], x[0], 4)  # error: async
