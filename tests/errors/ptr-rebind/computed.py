from prism.lang import block, const, float32, grid, group, id, int32, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(float32) @ grid[1]):
    with group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(float32[64])
        with group(thread[1]):
            rest: ptr(const(float32)) = tile + t  # error: ptr-rebind
