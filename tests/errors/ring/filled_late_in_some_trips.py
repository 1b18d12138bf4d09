"""Fillers that fill in some trips alone, while others wait."""

from __future__ import annotations

from prism.lang import (
    CUtensorMap,
    async_,
    attr,
    block,
    claim,
    const,
    cp_async,
    fragment,
    grid,
    group,
    half,
    id,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    thread,
    tma_load,
    warpgroup,
    wgmma,
)  # fmt: skip


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def case(x: ptr(const(half)) @ grid[1], b: const(CUtensorMap(half, 16, 64, swizzle=128)) @ grid[1], n: int @ grid[1]):
    with group(block[1]):
        left: shared(half[64, 64], ring=3, swizzle=128)
        right: shared(half[16, 64], ring=3, swizzle=128)
        plain: shared(half[16, 64], swizzle=128)
        still: shared(half[64, 64], swizzle=128)
        acc: fragment(float, 64, 16) @ warpgroup[1]
        acc = 0.0
        consumers, producers = roles(warpgroup, 1, 1)
        for k in range(n):
            if k % 2 == 0:
                with claim(left, producers, in_flight=1) as own:  # error: ring
                    t: int @ thread[1] = id()
                    with (
                        partition(own, thread[1], lambda i: (t // 2, t % 2 * 32 + 8 * i)) as mine,
                        async_(mine) as coming,
                        group(thread[1]),
                    ):
                        for i in range(4):
                            cp_async(coming[i], x[k * 4096 + t * 32 + 8 * i], 16)
                with claim(left, consumers) as a, group(warpgroup[1]):
                    wgmma(acc, a, plain)
            with claim(right, producers) as own, one(thread):
                tma_load(own, b[0, k * 64])
            with claim(right, consumers) as w, group(warpgroup[1]):
                wgmma(acc, still, w)
