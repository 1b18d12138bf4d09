from __future__ import annotations

import prism
from prism.lang import block, float32, grid, group, int32, ptr, requires, shared, thread


@prism.kernel
@requires(grid[1], block[1], thread[32])
def case(y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    with group(block[1]):
        row: shared(float32[n], swizzle=128)  # error: shared-alloc
