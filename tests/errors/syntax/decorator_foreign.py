from __future__ import annotations

import functools

from prism.lang import grid, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
@functools.cache  # error: syntax
def case(x: ptr(int) @ grid[1], n: int @ thread[1]):
    pass
