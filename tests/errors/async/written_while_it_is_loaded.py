from __future__ import annotations

from prism.lang import (
    block, bulk_load, const, grid, group, id, one, partition, prism, ptr, requires, shared, thread,
)


@prism("global")
@requires(grid[1], block[1], thread[128])
def case(x: ptr(const(float)) @ grid[1]):
    with group(block[1]):
        s: shared(float[128], ring=2) @ block[1]
        t: int @ thread[1] = id()
        with partition(s, block[1]) as now:
            with partition(now, thread[1], t) as mine, group(thread[1]):
                mine[0] = 0.0  # error: async
            with one(thread):
                bulk_load(now, x[0])
