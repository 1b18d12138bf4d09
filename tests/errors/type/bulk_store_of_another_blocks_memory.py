from __future__ import annotations

from prism.lang import block, bulk_store, grid, group, id, int32, one, partition, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[2], thread[32])
def case(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 32 * id()) as out, group(block[2]):
        box: shared(int32[2, 32], align=128)
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = id() % 32
        with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
            own[0] = t
        with group(block[1]), one(thread):
            bulk_store(out[0], box[1 - b, 0], 32)  # error: type
