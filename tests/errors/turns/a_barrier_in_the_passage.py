"""What one warp writes another reads, in the same passage."""

from __future__ import annotations

from prism.lang import block, claim, grid, group, id, int32, partition, prism, ptr, requires, roles, shared, thread, turns, warp


@prism("global")
@requires(grid[1], block[1], warp[4])
def case(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        s: shared(int32[64])
        workers, rest = roles(warp, 2, 2)
        with claim(s, workers) as own:
            t: int32 @ thread[1] = id()
            with turns(workers):
                with partition(own, thread[1], t) as slot, group(thread[1]):
                    slot[0] = t
                with group(thread[1]):
                    mine[0] = own[63 - t]  # error: turns
