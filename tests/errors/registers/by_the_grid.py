from __future__ import annotations

from prism.lang import attr, block, grid, prism, requires, set_registers, warpgroup


@prism("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    set_registers(40)  # error: registers
