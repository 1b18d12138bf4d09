from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def stage(n: int @ block[1]):
    s: shared(float[256]) @ block[1]


@prism("global")
@requires(grid[1], block[1], thread[32], smem=1024)
def case(n: int @ grid[1]):
    with group(block[1]):
        s: shared(float[16]) @ block[1]
        stage(n)  # error: call-smem
