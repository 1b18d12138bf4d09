from __future__ import annotations

from prism.lang import block, bulk_load, claim, const, grid, group, id, one, partition, prism, ptr, requires, roles, shared, thread, warp


@prism("device")
@requires(warp[1])
def load(tile: shared(float[32]) @ warp[1], x: ptr(const(float)) @ grid[1], at: int @ warp[1]):
    with one(thread):
        bulk_load(tile, x[at])


@prism("global")
@requires(grid[1], block[1], warp[2])
def case(x: ptr(const(float)) @ grid[1]):
    with group(block[1]):
        s: shared(float[32], ring=2)
        loader, user = roles(warp, 1, 1)
        for k in range(4):
            with claim(s, loader) as coming:
                load(coming, x, 32 * k)
                t: int @ thread[1] = id()
                v: float @ thread[1] = coming[t]  # error: async
            with claim(s, user) as now:
                u: int @ thread[1] = id()
                w: float @ thread[1] = now[u]
