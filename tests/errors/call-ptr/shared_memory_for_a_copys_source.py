from __future__ import annotations

from prism.lang import async_, block, const, cp_async, grid, group, id, int32, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def last(p: ptr(const(int32)) @ block[1], t: int32 @ thread[1]) -> int32 @ thread[1]:
    s: shared(int32[128], align=16)
    with partition(s, thread[1], 4 * t) as own, async_(own) as d, group(thread[1]):
        cp_async(d[0], p[4 * t], 16)
    return s[127 - t]


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(int32)) @ grid[1]):
    with group(block[1]):
        desk: shared(int32[128], align=16)
        t: int32 @ thread[1] = id()
        with partition(desk, thread[1], 4 * t) as own, group(thread[1]):
            for j in range(4):
                own[j] = t
        v: int32 @ thread[1] = last(desk, t)  # error: call-ptr
