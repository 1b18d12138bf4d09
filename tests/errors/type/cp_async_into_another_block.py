from __future__ import annotations

from prism.lang import (
    async_, block, const, cp_async, grid, group, id, int32, partition, prism, ptr, requires, shared, thread,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[2], thread[32])
def case(x: ptr(const(int32)) @ grid[1]):
    with group(block[2]):
        box: shared(int32[2, 128], align=128)
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = id() % 32
        with partition(box, thread[1], lambda j: (1 - b, 4 * t + j)) as theirs, async_(theirs) as d, group(thread[1]):
            cp_async(d[0], x[4 * t], 16)  # error: type
