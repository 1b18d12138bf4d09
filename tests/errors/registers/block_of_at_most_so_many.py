from __future__ import annotations

from prism.lang import attr, block, grid, group, one, prism, requires, set_registers, warpgroup


@prism("global")
@attr("__launch_bounds__(1024)")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]), one(warpgroup):
        set_registers(40)  # error: registers
