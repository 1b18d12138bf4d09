"""The paper's tf32 multiplication, as its appendix prints it: `C` is claimed for one block, and used by every one."""

from __future__ import annotations

from prism.lang import block, claim, grid, group, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(C: ptr(float) @ grid[1], N: int @ grid[1]):
    row: int @ block[1] = id() * 16
    with claim(C, block[1], offset=row * N) as tile:
        with group(block[1]):
            t: int @ thread[1] = id()
            with partition(tile, thread[1], t) as element:  # error: claim-one
                with group(thread[1]):
                    element[0] = 0.0
