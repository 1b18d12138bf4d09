from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, roles, set_registers, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]):
        consumers, producer = roles(warpgroup, 2, 1)
        with producer: set_registers(40)  # error: registers
