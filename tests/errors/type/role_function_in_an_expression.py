from __future__ import annotations

from prism.lang import block, grid, group, id, prism, requires, roles, thread, warp


@prism("device")
@requires(block[1], warp[2])
def work(users: roles(warp, 1)):
    with users, group(thread[1]):
        t: int = 3


@prism("global")
@requires(grid[1], block[1], warp[2])
def case():
    with group(block[1]):
        first, second = roles(warp, 1, 1)
        n: int @ block[1] = work(first)  # error: type
