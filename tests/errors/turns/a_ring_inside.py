"""Warps fill a ring and read it in one passage."""

from __future__ import annotations

from prism.lang import block, claim, grid, group, id, int32, partition, prism, ptr, requires, roles, shared, thread, turns, warp


@prism("global")
@requires(grid[1], block[1], warp[4])
def case(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        s: shared(int32[64], ring=2)
        workers, rest = roles(warp, 2, 2)
        for k in range(n):
            with turns(workers):
                with claim(s, workers) as new:
                    t: int32 @ thread[1] = id()
                    with partition(new, thread[1], t) as slot, group(thread[1]):
                        slot[0] = t
                with claim(s, workers) as old:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        mine[0] = old[63 - t]  # error: turns
