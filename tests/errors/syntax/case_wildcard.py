from __future__ import annotations

from prism.lang import grid, prism, ptr, requires, split, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(int) @ grid[1], n: int @ thread[1]):
    match split(thread):
        case 1:
            x[0] = n
        case _:  # error: syntax
            x[1] = n
