"""Kernels that ask for indices along the axes of a launch."""

import prism
from prism.lang import array, block, cdiv, count, grid, group, id, int32, int64, partition, ptr, requires, thread


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


@prism("global")
@requires(grid[1], thread[1])
def numbers(y: ptr(int32) @ grid[1]):
    """Of each axis: blocks, threads of the grid, threads of a block; and the last by a name of the unit."""
    with partition(y, thread[1], 16 * id()) as mine:
        b0: int32 @ grid[1] = count(block[1], 0)
        b1: int32 @ grid[1] = count(block[1], 1)
        b2: int32 @ grid[1] = count(block[1], 2)
        g0: int32 @ grid[1] = count(thread[1], 0)
        g1: int32 @ grid[1] = count(thread[1], 1)
        g2: int64 @ grid[1] = count(thread[1], 2)
        at: int32 @ thread[1] = id(thread[1], 1)
        with group(block[1]):
            t0: int32 @ block[1] = count(thread[1], 0)
            t1: int32 @ block[1] = count(thread[1], 1)
            t2: int32 @ thread[1] = count(2)
            with group(thread[1]):
                mine[0] = b0
                mine[1] = b1
                mine[2] = b2
                mine[3] = g0
                mine[4] = g1
                mine[5] = int32(g2)
                mine[6] = t0
                mine[7] = t1
                mine[8] = t2
                mine[9] = at


@prism("global")
@requires(grid[1], thread[1])
def added(y: array(int32, 2) @ grid[1], step: int32 @ grid[1]):
    """Any shape, by any number of blocks and threads along each axis."""
    columns: int32 @ grid[1] = count(thread[1], 0)
    rows: int32 @ grid[1] = count(thread[1], 1)
    c: int32 @ thread[1] = id(0)
    r: int32 @ thread[1] = id(1)
    with partition(y, thread[1], lambda i, j: (r + i * rows, c + j * columns)) as mine, group(thread[1]):
        for i in range(cdiv(int32(y.shape[0]) - r, rows)):
            for j in range(cdiv(int32(y.shape[1]) - c, columns)):
                mine[i, j] += step
