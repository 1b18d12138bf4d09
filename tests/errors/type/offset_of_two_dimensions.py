from prism.lang import block, float32, grid, group, id, int32, partition, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(y: ptr(float32) @ grid[1]):
    with group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(float32[32, 33])
        with partition(tile, thread[1], t) as mine, group(thread[1]):  # error: type
            mine[0] = 0
