"""The paper's scan, as printed: the tile's number, which each block draws for itself, is kept for the grid."""

from __future__ import annotations

from prism.lang import block, grid, group, id, int32, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1])
def drawn() -> int32 @ block[1]:
    return 0


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(int32) @ grid[1]):
    tile: int32 @ grid[1] = drawn()  # error: write-down
    with partition(x, block[1], offset=tile * 32, races="allow") as mine:
        with group(block[1]):
            t: int32 @ thread[1] = id()
            with partition(mine, thread[1], t) as element:
                with group(thread[1]):
                    element[0] = 0
