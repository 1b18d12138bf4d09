from prism.lang import float32, grid, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[1])
def case(y: ptr(float32) @ grid[1]):
    with partition(y, thread[1], id()) as mine:
        mine[0] = 0  # error: ptr-write
