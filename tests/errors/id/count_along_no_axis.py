import prism
from prism.lang import block, count, grid, group, int32, requires, thread, warp


@prism.kernel
@requires(grid[1], block[1], thread[32])
def case(n: int32 @ grid[1]):
    unnamed: int32 @ grid[1] = count(0)  # error: id
    warps: int32 @ grid[1] = count(warp[1], 1)  # error: id
    far: int32 @ grid[1] = count(thread[1], 3)  # error: id
    with group(block[1]):
        outside: int32 @ block[1] = count(block[1], 1)  # error: id
        with group(thread[1]):
            late: int32 @ thread[1] = count(thread[1], 0)  # error: id
