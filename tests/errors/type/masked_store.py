import prism
from prism.lang import float32, grid, group, id, int32, partition, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[i < n] = 1  # error: type
