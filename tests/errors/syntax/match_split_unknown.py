from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[64])
def case():
    with group(block[1]):
        match split(thread):  # error: syntax
            case 32:
                pass
