from __future__ import annotations

from prism.lang import block, grid, group, int32, prism, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[64])
def case():
    with group(block[1]):
        items: int32[3] @ thread[1] = {0}
        block.blocked_to_striped(items, THREADS=256)
        block.striped_to_blocked(items, THREADS=128)  # error: static-assert
