from __future__ import annotations

from prism.lang import block, grid, group, int32, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[2], thread[32])
def case():
    with group(block[2]):
        box: shared(int32[2, 32])
        p: ptr(int32) @ block[2] = box  # error: ptr-rebind
