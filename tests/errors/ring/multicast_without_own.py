"""A multicast to another block alone: who brings the next copy would not wait for the readers of its own."""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, attr, bf16, block, claim, const, fragment, grid, group, one, prism, requires, roles, shared, thread, tma_load,
    warpgroup, wgmma,
)  # fmt: skip


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[4], warpgroup[2])
def case(x: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1], n: int @ grid[1]):
    with group(block[4]), group(block[1]):
        s: shared(bf16[64, 64], ring=2, swizzle=128)
        acc: fragment(float, 64, 64) @ warpgroup[1]
        consumer, loader = roles(warpgroup, 1, 1)
        for i in range(n):
            with claim(s, loader) as t, one(thread):
                tma_load(t, x[0, i * 64], multicast=0b10, relative=True)  # error: ring
            with claim(s, consumer) as t:
                wgmma(acc, t, t)
