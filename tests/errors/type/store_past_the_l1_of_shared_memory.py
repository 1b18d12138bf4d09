from __future__ import annotations

from prism.lang import block, grid, group, id, int4, int32, partition, prism, requires, shared, store_vector, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group(block[1]):
        s: shared(int32[128], align=16)
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], 4 * t) as own, group(thread[1]):
            store_vector(own[0], int4(t, t, t, t), cache="no_allocate")  # error: type
