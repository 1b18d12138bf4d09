from __future__ import annotations

from prism.lang import block, const, grid, group, id, int32, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def element(p: ptr(const(int32)) @ block[1], k: int32 @ thread[1]) -> int32 @ thread[1]:
    return p[k]


@prism("global")
@requires(grid[1], block[2], thread[32])
def case():
    with group(block[2]):
        box: shared(int32[2])
        b: int32 @ block[1] = id()
        with partition(box, block[1], offset=1 - b) as other, group(block[1]):
            t: int32 @ thread[1] = id()
            v: int32 @ thread[1] = element(other, t)  # error: call-ptr
