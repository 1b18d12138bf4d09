from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, requires, shared, thread, warp


@prism("device")
@requires(warp[1])
def clear(tile: shared(float[4, 32]) @ warp[1]):
    t: int @ thread[1] = id()
    with partition(tile, thread[1], lambda i: (i, t)) as mine, group(thread[1]):
        for i in range(4):
            mine[i] = 0.0


@prism("global")
@requires(grid[1], block[1], warp[2])
def case():
    with group(block[1]):
        s: shared(float[8, 32])
        w: int @ warp[1] = id()
        with partition(s, warp[1], lambda i, j: (2 * i + w, j)) as mine:
            clear(mine)  # error: call-ptr
