from __future__ import annotations

import prism
from prism.lang import block, grid, group, int32, requires, shared, thread


@prism.kernel
@requires(grid[1], block[1], thread[32])
def case(n: int32 @ grid[1]):
    with group(block[1]):
        row: shared(int32[32], align=n)  # error: shared-alloc
