from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, id, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def clear(p: ptr(int) @ block[1]):
    with partition(p, thread[1], id()) as mine, group(thread[1]):
        mine[0] = 0


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(int[32], ring=1) @ block[1]
        clear(s)  # error: ring
