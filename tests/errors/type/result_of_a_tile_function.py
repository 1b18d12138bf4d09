from __future__ import annotations

from prism.lang import block, const, grid, group, prism, requires, shared, thread


@prism("device")
@requires(thread[1])
def first(tile: const(shared(float[32])) @ thread[1]) -> float @ thread[1]:  # error: type
    return tile[0]


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group(block[1]):
        s: shared(float[32])
        with group(thread[1]):
            first(s)
