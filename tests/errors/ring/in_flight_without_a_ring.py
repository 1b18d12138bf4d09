from __future__ import annotations

from prism.lang import bf16, block, claim, const, grid, group, prism, ptr, requires, roles, shared, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(bf16[64, 64]) @ block[1]
        consumers, producer = roles(warpgroup, 2, 1)
        with claim(s, consumers, in_flight=1) as now:  # error: ring
            pass
