from __future__ import annotations

from prism.lang import block, bulk_load, claim, const, grid, group, id, int32, one, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(thread[1])
def next(a: int32 @ thread[1]) -> int32 @ thread[1]:
    return a + 1


@prism("global")
@requires(grid[1], block[1], thread[32], smem=64)
def case(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=32 * id()) as out, group(block[1]):
        sum: int32 @ thread[1] = next(id())
        tile: shared(int32[32], ring=2)  # error: call-smem
        for k in range(4):
            with claim(tile, thread[1]) as own, one(thread):
                bulk_load(own, x[32 * k])
            with partition(tile, block[1]) as all, group(thread[1]):
                sum += all[sum % 32]
        with partition(out, thread[1], offset=id()) as mine, group(thread[1]):
            mine[0] = sum
