from __future__ import annotations

from prism.lang import (
    block, bulk_load, const, grid, group, one, partition, prism, ptr, requires, roles, shared, thread, warp,
)


@prism("global")
@requires(grid[1], block[1], thread[128])
def case(x: ptr(const(float)) @ grid[1]):
    with group(block[1]):
        s: shared(float[128], ring=2) @ block[1]
        with partition(s, block[1]) as now:
            first, second = roles(warp, 2, 2)
            with first, one(thread):
                bulk_load(now[0], x[0], n=64)
            with second, one(thread):
                bulk_load(now[64], x[64], n=64)  # error: ptr-write
