from __future__ import annotations

from prism.lang import block, bulk_reduce, float32, grid, group, int32, id, partition, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[64])
def case(y: ptr(float32) @ grid[1]):
    with group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        bulk_reduce(y[0], s)  # error: ptr-write
