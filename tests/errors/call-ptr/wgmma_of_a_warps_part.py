from __future__ import annotations

from prism.lang import (
    bf16, block, const, fragment, grid, group, id, int32, partition, prism, ptr, requires, shared, warp, warpgroup, wgmma,
)


@prism("global")
@requires(grid[1], block[1], warpgroup[1])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        a: shared(bf16[64, 64], swizzle=128) @ block[1]
        b: shared(bf16[64, 64], swizzle=128) @ block[1]
        acc: fragment(float, 64, 64) @ warpgroup[1]
        w: int32 @ warp[1] = id()
        with partition(a, warp[1], lambda y, x: (16 * w + y, x)) as own, group(warpgroup[1]):
            wgmma(acc, own, b)  # error: call-ptr
