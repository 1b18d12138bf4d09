from __future__ import annotations

from prism.lang import block, const, grid, group, id, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def fill(tile: shared(float[32]) @ block[1], x: ptr(const(float)) @ block[1]):
    first: float @ block[1] = x[0]
    with partition(tile, thread[1], id()) as mine, group(thread[1]):
        mine[0] = first


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(float) @ grid[1]):
    with partition(x, block[1], 32 * id()) as part, group(block[1]):
        s: shared(float[32])
        fill(s, part)  # error: ptr-read
