from __future__ import annotations

from prism.lang import block, grid, group, int32, load_acquire, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[2], thread[32])
def case(y: ptr(int32) @ grid[1]):
    with group(block[2]):
        flags: shared(int32[2, 32])
        with group(thread[1]):
            seen: int32 = load_acquire(flags[0, 0], scope="block")  # error: scope
