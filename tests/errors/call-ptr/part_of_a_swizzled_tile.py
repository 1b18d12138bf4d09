from __future__ import annotations

from prism.lang import bf16, block, const, grid, group, id, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(thread[32])
def clear(p: ptr(float) @ thread[32]):
    with partition(p, thread[1], id()) as mine, group(thread[1]):
        mine[0] = 0.0


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(x: ptr(const(bf16)) @ grid[1]):
    with group(block[1]):
        s: shared(float[32, 32], swizzle=128) @ block[1]
        w: int @ thread[32] = id()
        with partition(s, thread[32], lambda i: (w, i)) as row_:
            clear(row_)  # error: call-ptr
