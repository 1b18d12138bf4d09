"""Kernels that ask for indices along the axes of a launch."""

import prism
from prism.lang import array, block, grid, group, id, int32, partition, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def indices(y: array(int32, 2) @ grid[1]):
    c: int32 @ thread[1] = id(0)
    r: int32 @ thread[1] = id(1)
    with partition(y, thread[1], lambda i, j: (r + i, c + j)) as mine, group(thread[1]):
        if r < y.shape[0] and c < y.shape[1]:
            mine[0, 0] = 1000 * r + c


@prism("global")
@requires(grid[1], block[1], thread[32])
def places(y: ptr(int32) @ grid[1]):
    bx: int32 @ block[1] = id(0)
    by: int32 @ block[1] = id(1)
    bz: int32 @ block[1] = id(2)
    gx: int32 @ thread[1] = id(0)
    with partition(y, thread[1], 8 * id()) as mine, group(block[1]):
        tx: int32 @ thread[1] = id(0)
        ty: int32 @ thread[1] = id(1)
        tz: int32 @ thread[1] = id(2)
        with group(thread[1]):
            mine[0] = bx
            mine[1] = by
            mine[2] = bz
            mine[3] = tx
            mine[4] = ty
            mine[5] = tz
            mine[6] = gx
