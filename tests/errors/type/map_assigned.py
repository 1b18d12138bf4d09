from __future__ import annotations

from prism.lang import CUtensorMap, bf16, const, grid, prism, requires


@prism("global")
@requires(grid[1])
def case(map_x: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1]):
    map_x = 1  # error: type
