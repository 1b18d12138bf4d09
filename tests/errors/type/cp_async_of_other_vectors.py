from __future__ import annotations

from prism.lang import (
    async_,
    block,
    const,
    cp_async,
    grid,
    group,
    id,
    int2,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    thread,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(int2)) @ grid[1]):
    with group(block[1]):
        s: shared(int32[64], align=16)
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], 2 * t) as p, async_(p) as coming, group(thread[1]):  # noqa: F821
            cp_async(coming[0], x[t], 8)  # error: type
