from prism.lang import block, grid, group, int32, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[1])
def case(x: ptr(int32) @ grid[1]):
    with group(block[1]):
        w: int32 @ thread[32] = 0  # error: decl
