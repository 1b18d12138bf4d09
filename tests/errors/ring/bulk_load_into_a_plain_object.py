from __future__ import annotations

from prism.lang import (
    bf16, block, bulk_load, claim, const, grid, group, one, prism, ptr, requires, shared, thread, warpgroup,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(bf16[1024]) @ block[1]
        with claim(s, thread[1]) as mine, one(thread):
            bulk_load(mine, x[0])  # error: ring
