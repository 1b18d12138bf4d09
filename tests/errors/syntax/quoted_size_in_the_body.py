from __future__ import annotations

import prism
from prism.lang import constexpr, grid, group, id, int32, partition, ptr, requires, template, thread

TEMPLATE = {"N": 64}


@prism.kernel
@template(N=constexpr(int))
@requires(grid[1], thread["N"])
def case(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread["N"]):  # error: syntax
        with group(thread[1]):
            mine[0] = N
