from __future__ import annotations

from prism.lang import block, const, grid, group, prism, requires, shared, thread


@prism("device")
@requires(thread[1])
def first(tile: const(shared(float[32])) @ thread[1], found: const(float[1]) @ thread[1]):
    found[0] = tile[0]  # error: const


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group(block[1]):
        s: shared(float[32])
        v: float[1] @ thread[1] = {0}
        with group(thread[1]):
            first(s, v)
