from __future__ import annotations

import prism
from prism.lang import constexpr, grid, group, id, int32, partition, ptr, requires, template, thread

TEMPLATE = {"SIZE": 64}


@prism.kernel
@template(SIZE=constexpr(int))
@requires(grid[1], thread["SIZES // 2"])  # error: template
def case(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = SIZE
