from __future__ import annotations

from prism.lang import (
    attr, block, bulk_store, claim, grid, group, id, int32, one, partition, prism, ptr, requires, roles, shared, st_async,
    thread, warp,
)  # fmt: skip


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[2], thread[64])
def case(y: ptr(int32) @ grid[1], rounds: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], 32 * rounds * b) as out, group(block[2]), group(block[1]):
        inbox: shared(int32[32], ring=2)
        readers, senders = roles(warp, 1, 1)
        for k in range(rounds):
            with claim(inbox, senders) as box:
                t: int32 @ thread[1] = id()
                with partition(box, thread[1], t) as slot, group(thread[1]):
                    st_async(slot[0], k)
            with claim(inbox, readers) as box, one(thread):
                bulk_store(out[32 * k], box, 32)  # error: ring
