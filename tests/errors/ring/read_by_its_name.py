from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, id, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[128])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(float[128], ring=3) @ block[1]
        t: int @ thread[1] = id()
        v: float @ thread[1] = s[t]  # error: ring
