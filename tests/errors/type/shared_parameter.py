from __future__ import annotations

from prism.lang import block, grid, prism, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[1])
def case(s: shared(int[4]) @ block[1]):  # error: type
    m: int @ thread[1] = s[0]
