from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, prism, ptr, requires, warp, warpgroup, wgmma_async


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]), group(warp[1]):
        with wgmma_async():  # error: call-bound
            pass
