import prism
from prism.lang import array, const, float32, grid, group, id, int32, partition, ptr, requires, thread


@prism("device")
@requires(thread[1])
def first(x: ptr(const(float32)) @ thread[1]) -> float32 @ thread[1]:
    return x[0]


@prism("global")
@requires(grid[1], thread[1])
def case(x: array(const(float32), 2) @ grid[1]):
    r: int32 @ thread[1] = id()
    with partition(x, thread[1], lambda j: (r, j)) as row, group(thread[1]):
        whole: float32 = first(x)  # error: call-ptr
        part: float32 = first(row)  # error: call-ptr
        p: ptr(const(float32)) = x  # error: call-ptr
