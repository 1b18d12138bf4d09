import prism
from prism.lang import array, const, float32, grid, int32, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(x: array(const(float32)) @ grid[1], n: int32 @ grid[1]):  # error: type
    m: int32 @ grid[1] = n
