from __future__ import annotations

from prism.lang import block, const, grid, group, id, int32, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[2], thread[32])
def element(p: ptr(const(int32)) @ block[2], k: int32 @ thread[1]) -> int32 @ thread[1]:
    return p[k]


@prism("global")
@requires(grid[1], block[2], thread[32])
def case():
    with group(block[2]):
        box: shared(int32[2, 32])
        t: int32 @ thread[1] = id() % 32
        v: int32 @ thread[1] = element(box, t + 32)  # error: call-ptr
