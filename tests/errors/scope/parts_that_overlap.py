from __future__ import annotations

from prism.lang import block, grid, group, int32, partition, prism, ptr, requires, store_relaxed, thread


@prism("device")
@requires(thread[1])
def mark(p: ptr(int32) @ block[1]):
    store_relaxed(p[0], 1, scope="block")


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], races="allow") as part, group(block[1]):
        now: ptr(int32) @ block[1] = part
        with group(thread[1]):
            store_relaxed(part[0], 1, scope="block")  # error: scope
            mark(now)  # error: scope
