import prism
from prism.lang import array, const, float32, grid, group, id, int32, partition, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(x: array(const(float32), 2) @ grid[1], y: array(float32, 2) @ grid[1], n: int32 @ grid[1]):
    a: int32 @ grid[1] = x.shape  # error: type
    b: int32 @ grid[1] = x.shape[2]  # error: type
    c: int32 @ grid[1] = x.strides[n]  # error: type
    with partition(y, thread[1], lambda i, j: (id(thread[1]) + i, j)) as mine, group(thread[1]):
        d: int32 = mine.shape[0]  # error: type
        e: int32 = y.shape[0]
