from __future__ import annotations

from prism.lang import block, claim, const, grid, group, prism, requires, roles, shared, thread, warp


@prism("device")
@requires(thread[1])
def first(tile: const(shared(float[32])) @ thread[1], found: float[1] @ thread[1]):
    found[0] = tile[0]


@prism("global")
@requires(grid[1], block[1], warp[1])
def case():
    with group(block[1]):
        s: shared(float[32], ring=2)
        (all_,) = roles(warp, 1)
        v: float[1] @ thread[1]
        for k in range(4):
            with claim(s, all_) as now, group(thread[1]):
                first(now, v)
            with group(thread[1]):
                first(now, v)  # error: name
