from __future__ import annotations

from prism.lang import bf16, block, claim, grid, group, prism, requires, roles, shared, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]):
        s: shared(bf16[64, 64], ring=2) @ block[1]
        consumers, producer = roles(warpgroup, 2, 1)
        with claim(s, consumers, in_flight=n) as now:  # error: ring
            pass
