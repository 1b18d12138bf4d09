from prism.lang import const, grid, group, id, int32, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], thread[6])
def case(y: ptr(int32) @ grid[1]):
    w: int32 @ thread[4] = id()  # error: decl
    with partition(y, thread[1], id()) as mine:
        with group(thread[1]):
            mine[0] = w
