from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32], smem=0)  # error: call-smem
def clear(tile: shared(float[32]) @ block[1]):
    with partition(tile, thread[1], id()) as mine, group(thread[1]):
        mine[0] = 0.0


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group(block[1]):
        s: shared(float[32])
        clear(s)
