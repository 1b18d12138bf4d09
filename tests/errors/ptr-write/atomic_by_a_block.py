from __future__ import annotations

from prism.lang import atomic_add, block, grid, prism, ptr, requires, thread, uint32


@prism("device")
@requires(block[1], thread[32])
def case(counter: ptr(uint32) @ grid[1]):
    atomic_add(counter[0], 1)  # error: ptr-write
