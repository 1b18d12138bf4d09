from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, prism, requires, shared, thread


@prism("device")
@requires(thread[1])
def first(tile: const(shared(bf16[8, 64], swizzle=128)) @ thread[1], found: bf16[1] @ thread[1]):
    found[0] = tile[0, 0]


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group(block[1]):
        s: shared(bf16[8, 64])
        v: bf16[1] @ thread[1]
        with group(thread[1]):
            first(s, v)  # error: call-ptr
