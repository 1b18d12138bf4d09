from __future__ import annotations

from prism.lang import CUtensorMap, bf16, grid, prism, requires


@prism("global")
@requires(grid[1])
def case(n: int @ grid[1]):
    map_y: CUtensorMap(bf16, 64, 64) @ grid[1]  # error: type
