from __future__ import annotations

from prism.lang import CUtensorMap, bf16, grid, prism, requires


@prism("global")
@requires(grid[1])
def case(map_x: CUtensorMap(bf16) @ grid[1]):  # error: type
    n: int = 0
