from __future__ import annotations

from prism.lang import (
    block, bulk_load, claim, const, grid, group, one, prism, ptr, requires, roles, shared, split, thread, warp,
)


@prism("device")
@requires(warp[1])
def load(tile: shared(float[32]) @ warp[1], x: ptr(const(float)) @ grid[1]):
    with one(thread):
        bulk_load(tile, x[0])


@prism("global")
@requires(grid[1], block[1], warp[2])
def case(x: ptr(const(float)) @ grid[1]):
    with group(block[1]):
        s: shared(float[32], ring=2)
        loader, user = roles(warp, 1, 1)
        with claim(s, loader) as coming:
            load(coming, x)
            match split(thread):
                case 1:
                    pass
                case 1:
                    bulk_load(coming, x[32])  # error: ptr-write
