from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def fill(s: shared(float[32], ring=2) @ block[1]):
    t: int @ thread[1] = id()
    with partition(s, block[1]) as c, partition(c, thread[1], t) as mine, group(thread[1]):
        mine[0] = 1.0
    with partition(s, block[1]) as c, group(thread[1]):
        v: float = c[31 - t]


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(n: int @ grid[1]):
    with group(block[1]):
        r: shared(float[32])
        for k in range(n):
            fill(r)  # error: call-ptr
