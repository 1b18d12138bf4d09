from __future__ import annotations

from prism.lang import block, const, grid, group, id, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(thread[1])
def first(tile: const(shared(float[32])) @ thread[1], y: ptr(float) @ thread[1]) -> ptr(float) @ thread[1]:  # error: type
    return y


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(float) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        s: shared(float[32])
        with group(thread[1]):
            first(s, mine)
