from __future__ import annotations

from prism.lang import block, extern, grid, group, prism, requires, shared, thread


@prism("device")
@extern("tile[threadIdx.x] = 0.0f;")
@requires(block[1], thread[32])
def clear(tile: shared(float[32]) @ block[1]):  # error: extern
    pass


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group(block[1]):
        s: shared(float[32])
        clear(s)
