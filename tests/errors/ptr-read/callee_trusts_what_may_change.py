from prism.lang import block, const, grid, group, int32, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def flag_of(flags: ptr(const(int32)) @ block[1]) -> int32 @ block[1]:
    found: int32 @ block[1] = flags[0]
    return found


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(flags: ptr(int32) @ grid[1]):
    with partition(flags, block[1], offset=0, races="allow") as own:
        with group(block[1]):
            set: int32 @ block[1] = flag_of(own)  # error: ptr-read
            if set > 0:
                pass
