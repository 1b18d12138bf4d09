from __future__ import annotations

from prism.lang import grid, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(int) @ grid[1]):
    t: int @ thread[1] = threadIdx.x  # error: name
    if t > 0:
        b: int @ thread[1] = blockIdx.x  # error: name
    again: int @ thread[1] = threadIdx.x
    atomicAdd(x, 1)  # error: name
