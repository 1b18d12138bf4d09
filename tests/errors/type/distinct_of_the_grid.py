from __future__ import annotations

from prism.lang import assume, distinct, grid, prism, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(n: int @ grid[1]):
    assume(distinct(n))  # error: type
