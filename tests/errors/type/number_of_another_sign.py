from prism.lang import grid, group, int32, int64, prism, requires, thread, uint32


@prism("global")
@requires(grid[1], thread[1])
def case():
    with group(thread[1]):
        mask: uint32 = -1  # error: type
        word: int32 = 0xFFFFFFFF  # error: type
        long: int32 = 0x1FFFFFFFF  # error: type
        huge: int64 = 0x1FFFFFFFFFFFFFFFF  # error: type
