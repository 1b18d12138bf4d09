from __future__ import annotations

from prism.lang import block, claim, const, float32, grid, group, id, one, partition, prism, ptr, requires, shared, thread
from prism.lib.thread import operators


@prism("global")
@requires(grid[1], block[1], thread[64])
def case(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    i: int @ thread[1] = id()
    with partition(y, block[1], id()) as out, group(block[1]):
        t: int @ thread[1] = id()
        s: shared(float32[64])
        with partition(s, thread[1], t) as slot, group(thread[1]):
            slot[0] = x[i]
        first: float32 @ block[1] = block.reduce(x[i], OP=operators.add)
        second: float32 @ block[1] = block.reduce(s[63 - t], OP=operators.add)  # error: type
        with claim(out, thread[1]) as mine, one(thread):
            mine[0] = first + second
