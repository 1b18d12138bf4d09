from __future__ import annotations

from prism.lang import block, bulk_reduce, float32, grid, group, int32, id, one, partition, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[64])
def case():
    with group(block[1]):
        s: shared(float32[64])
        sums: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with one(thread):
            bulk_reduce(sums[0], s)  # error: type
