import prism
from prism.lang import grid, int32, partition, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    half: int32 @ grid[1] = (n + 1) / 2  # error: type
    many: int32 @ grid[1] = n
    many /= 2  # error: type
    with partition(y, thread[1]) as mine:
        pass
