from __future__ import annotations

from prism.lang import (
    bf16, block, bulk_load, claim, const, grid, group, id, one, prism, ptr, requires, roles, shared, thread,
    warpgroup,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(bf16[1024], ring=2) @ block[1]
        consumers, producer = roles(warpgroup, 2, 1)
        with claim(s, producer) as now:
            t: int @ thread[1] = id()
            with one(thread):
                bulk_load(now, x[0])
            first: bf16 @ thread[1] = now[t]  # error: async
