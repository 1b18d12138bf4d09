from __future__ import annotations

from prism.lang import block, const, grid, group, id, prism, requires, shared, thread, warp


@prism("device")
@requires(warp[1])
def corner(tile: const(shared(int[4, 32])) @ warp[1]) -> int @ warp[1]:
    return tile[0, 0]


@prism("global")
@requires(grid[1], block[1], warp[2])
def case():
    with group(block[1]):
        s: shared(int[8, 32])
        w: int @ warp[1] = id()
        t: int @ thread[1] = id()
        n: int @ warp[1] = corner(s[6, 0])  # error: call-ptr
