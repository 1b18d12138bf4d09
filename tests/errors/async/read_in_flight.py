from __future__ import annotations

from prism.lang import (
    async_, block, const, cp_async, grid, group, id, partition, prism, ptr, requires, shared, thread,
)


@prism("global")
@requires(grid[1], block[1], thread[128])
def case(x: ptr(const(float)) @ grid[1]):
    with group(block[1]):
        s: shared(float[128]) @ block[1]
        t: int @ thread[1] = id()
        with partition(s, thread[1], t) as mine:
            with async_(mine) as d:
                with group(thread[1]):
                    cp_async(d[0], x[t], 4)
                    v: float = d[0]  # error: async
