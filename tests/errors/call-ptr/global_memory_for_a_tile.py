from __future__ import annotations

from prism.lang import const, grid, group, prism, ptr, requires, shared, thread


@prism("device")
@requires(thread[1])
def first(tile: const(shared(float[32])) @ thread[1], found: float[1] @ thread[1]):
    found[0] = tile[0]


@prism("global")
@requires(grid[1], thread[1])
def case(x: ptr(const(float)) @ grid[1]):
    v: float[1] @ thread[1]
    with group(thread[1]):
        first(x, v)  # error: call-ptr
