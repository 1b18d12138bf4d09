from __future__ import annotations

from prism.lang import block, claim, grid, group, one, prism, requires, roles, shared, thread, warpgroup


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
def case(n: int @ grid[1]):
    with group(block[1]):
        s: shared(float[128], ring=2) @ block[1]
        u: shared(float[128], ring=2) @ block[1]
        consumers, producer = roles(warpgroup, 2, 1)
        with claim(s, producer) as a, one(thread), claim(u, consumers) as b:  # error: syntax
            pass
