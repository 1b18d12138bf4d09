"""A tile of a matrix that each block of a cluster stores: no block waits for the other's store."""

from __future__ import annotations

from prism.lang import CUtensorMap, block, grid, group, id, int32, one, partition, prism, requires, shared, thread, tma_store


@prism("global")
@requires(grid[1], block[2], thread[32])
def case(y: CUtensorMap(int32, 8, 16) @ grid[1]):
    pair: int32 @ block[2] = id()
    with group(block[1]):
        s: shared(int32[8, 16])
        t: int32 @ thread[1] = id() % 32
        with partition(s, thread[1], lambda i: (t // 4, t % 4 * 4 + i)) as mine, group(thread[1]):
            for i in range(4):
                mine[i] = t
        with one(thread):
            tma_store(y[8 * pair, 0], s)  # error: race
