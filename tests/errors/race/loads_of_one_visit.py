"""Two loads of one visit of a ring that bring the same elements: they come in in any order."""

from __future__ import annotations

from prism.lang import block, bulk_load, claim, const, grid, group, int32, one, prism, ptr, requires, roles, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[64])
def case(x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[32], ring=2)
        consumer, producer = roles(thread, 32, 32)
        for k in range(n):
            with claim(s, producer) as a, one(thread):
                bulk_load(a, x[64 * k])
                bulk_load(a[16], x[64 * k + 32], n=16)  # error: race
