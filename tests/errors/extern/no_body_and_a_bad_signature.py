from __future__ import annotations

import prism
from prism.lang import float32, grid, int32, ptr, requires, thread


@prism.kernel
@requires(grid[1], thread[32])
def case(  # error: extern
    x: ptr(float32) @ grid[1],
    n: int32,  # error: syntax
    y: float32[4] @ grid[1],  # error: type
):
    pass
