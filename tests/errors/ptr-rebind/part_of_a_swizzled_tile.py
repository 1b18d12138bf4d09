from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, partition, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(float[32, 32], swizzle=128) @ block[1]
        with partition(s, block[1]) as whole:
            p: ptr(float) @ block[1] = whole  # error: ptr-rebind
