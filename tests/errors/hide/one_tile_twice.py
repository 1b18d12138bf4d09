from __future__ import annotations

from prism.lang import block, const, grid, group, id, partition, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def turned(source: const(shared(float[32])) @ block[1], target: shared(float[32]) @ block[1]):
    t: int @ thread[1] = id()
    with partition(target, thread[1], t) as mine, group(thread[1]):
        mine[0] = source[31 - t]


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group(block[1]):
        s: shared(float[32])
        turned(s, s)  # error: hide
