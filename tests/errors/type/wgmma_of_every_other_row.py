from __future__ import annotations

from prism.lang import (
    bf16, block, const, fragment, grid, group, partition, prism, ptr, requires, shared, warpgroup, wgmma,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[1])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        a: shared(bf16[128, 64], swizzle=128) @ block[1]
        acc: fragment(float, 64, 64) @ warpgroup[1]
        with partition(a, warpgroup[1], lambda y, x: (2 * y, x)) as own, group(warpgroup[1]):
            wgmma(acc, own, own)  # error: type
