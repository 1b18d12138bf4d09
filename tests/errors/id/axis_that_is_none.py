import prism
from prism.lang import grid, id, int32, requires, thread, warp


@prism("global")
@requires(grid[1], thread[32])
def case(n: int32 @ grid[1]):
    far: int32 @ thread[1] = id(3)  # error: id
    of_warps: int32 @ warp[1] = id(1)  # error: id
