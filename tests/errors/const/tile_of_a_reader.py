from __future__ import annotations

from prism.lang import block, const, grid, group, id, partition, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def clear(tile: const(shared(float[32])) @ block[1]):
    with partition(tile, thread[1], id()) as mine, group(thread[1]):
        mine[0] = 0.0  # error: const


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group(block[1]):
        s: shared(float[32])
        clear(s)
