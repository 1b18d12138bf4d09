from __future__ import annotations

from prism.lang import grid, partition, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(int) @ grid[1], n: int @ thread[1]):
    with partition(x) as y:  # error: syntax
        y[0] = n
