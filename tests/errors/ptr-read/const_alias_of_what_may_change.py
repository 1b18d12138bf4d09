from prism.lang import block, const, grid, group, int32, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(flags: ptr(int32) @ grid[1]):
    with partition(flags, block[1], offset=0, races="allow") as own:
        with group(block[1]):
            fixed: ptr(const(int32)) @ block[1] = own  # error: ptr-read
            set: int32 @ block[1] = fixed[0]
