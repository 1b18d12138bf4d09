import prism
from prism.lang import grid, int32, partition, ptr, requires, thread

ROWS = 7


@prism("global")
@requires(grid[1], thread[1])
def case(y: ptr(int32) @ grid[1]):
    third: int32 @ grid[1] = ROWS / 3  # error: type
    with partition(y, thread[1]) as mine:
        pass
