import prism
from prism.lang import array, float32, grid, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(y: array(float32, 2) @ grid[1]):
    z: array(float32, 2) @ grid[1] = y  # error: type
