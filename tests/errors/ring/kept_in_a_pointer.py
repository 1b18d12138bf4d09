"""A pointer to the present copy, kept beyond the visit."""

from __future__ import annotations

from prism.lang import (
    attr,
    block,
    bulk_load,
    claim,
    const,
    grid,
    group,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    thread,
    warp,
)  # fmt: skip


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(grid[1], block[1], warp[2])
def case(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], lambda i: i, races="allow") as out, group(block[1]):
        s: shared(float[32], ring=2)
        reader, loader = roles(warp, 1, 1)
        v: float @ thread[1] = 0.0
        for i in range(n):
            with claim(s, loader) as t, one(thread):
                bulk_load(t, x[i * 32])
            with claim(s, reader) as t:
                kept: ptr(float) @ thread[32] = t  # error: ring
                with group(thread[1]):
                    v += kept[0]
        with partition(out, thread[1], lambda i: i, races="allow") as mine, group(thread[1]):
            mine[0] = v
