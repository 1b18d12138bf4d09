"""The paper's figure of illegal groups, as printed: a unit in brackets."""

from __future__ import annotations

from prism.lang import block, grid, group, prism, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case():
    with group([block[1]]):  # error: bound-wf
        pass
