from __future__ import annotations

from prism.lang import CUtensorMap, block, const, float32, grid, group, int32, id, one, partition, prism, requires, shared, thread, tma_reduce


@prism("global")
@requires(grid[1], block[1], thread[64])
def case(y: const(CUtensorMap(float32, 1, 8, 32)) @ grid[1]):
    with group(block[1]):
        s: shared(float32[8, 32])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], lambda e: (e, t % 32)) as mine, group(thread[1]):
            for e in range(4):
                mine[2 * e + t // 32] = t
        with one(thread):
            tma_reduce(y[0, 0, 0], s)  # error: const
