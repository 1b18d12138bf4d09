from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(int) @ grid[1]):
    with partition(y, thread[1], offset=id()) as mine:
        with group(block[1]):
            b: int @ block[1] = id()  # error: id
            w: int @ thread[32] = id()
            with group(thread[32]):
                v: int @ thread[32] = id()  # error: id
                with group(thread[1]):
                    mine[0] = b + v + w
