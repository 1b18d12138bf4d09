from __future__ import annotations

from prism.lang import (
    bf16, block, bulk_load, claim, const, grid, group, one, prism, ptr, requires, shared, thread,
)


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(bf16[1024], ring=2) @ block[1]
        with claim(s, thread[1], 8) as now, one(thread):
            bulk_load(now, x[0], n=64)  # error: type
