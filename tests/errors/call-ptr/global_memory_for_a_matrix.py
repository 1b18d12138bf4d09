from __future__ import annotations

from prism.lang import const, grid, group, half, id, ldmatrix, prism, ptr, requires, thread, uint32, warp


@prism("device")
@requires(warp[1])
def first(x: ptr(const(half)) @ warp[1]) -> uint32 @ thread[1]:
    r: uint32[1] @ thread[1]
    ldmatrix(x[id(thread[1]) % 8 * 8], r)
    return r[0]


@prism("global")
@requires(grid[1], warp[1])
def case(x: ptr(const(half)) @ grid[1]):
    with group(warp[1]):
        v: uint32 @ thread[1] = first(x)  # error: call-ptr
