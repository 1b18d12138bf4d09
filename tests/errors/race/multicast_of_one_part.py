"""Each block of a cluster brings the same rows of a tile for both: the loads come in in any order."""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, block, claim, const, grid, group, int32, one, prism, requires, roles, shared, thread, tma_load,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[2], thread[64])
def case(x: const(CUtensorMap(int32, 8, 16)) @ grid[1], n: int32 @ grid[1]):
    with group(block[2]), group(block[1]):
        s: shared(int32[16, 16], ring=2)
        consumer, producer = roles(thread, 32, 32)
        for k in range(n):
            with claim(s, producer) as a, one(thread):
                tma_load(a[8, 0], x[16 * k, 0], multicast=3)  # error: race
