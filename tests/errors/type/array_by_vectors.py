import prism
from prism.lang import array, const, float4, float32, grid, group, load_vector, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(x: array(const(float32), 2) @ grid[1]):
    with group(thread[1]):
        v: float4 = load_vector(x[0, 0], 4)  # error: type
