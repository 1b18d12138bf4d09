from __future__ import annotations

from prism.lang import block, bulk_load, const, grid, group, one, partition, prism, ptr, requires, shared, thread, warp


@prism("device")
@requires(warp[1])
def load(tile: shared(float[32]) @ warp[1], x: ptr(const(float)) @ grid[1], at: int @ warp[1]):
    with one(thread):
        bulk_load(tile, x[at])  # error: ring


@prism("global")
@requires(grid[1], block[1], warp[1])
def case(x: ptr(const(float)) @ grid[1]):
    with group(block[1]):
        s: shared(float[32])
        with partition(s, warp[1]) as mine:
            load(mine, x, 0)
