"""A function that all warps of the role run together."""

from __future__ import annotations

from prism.lang import block, claim, grid, group, id, int32, partition, prism, ptr, requires, roles, shared, thread, turns, warp


@prism("device")
@requires(thread[64])
def meet(s: ptr(int32) @ thread[64], t: int32 @ thread[1]) -> int32 @ thread[1]:
    with partition(s, thread[1], t) as mine, group(thread[1]):
        mine[0] = t
    return s[63 - t]


@prism("global")
@requires(grid[1], block[1], warp[4])
def case(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        s: shared(int32[64])
        workers, rest = roles(warp, 2, 2)
        with claim(s, workers) as own:
            t: int32 @ thread[1] = id()
            with turns(workers):
                v: int32 @ thread[1] = meet(own, t)  # error: turns
