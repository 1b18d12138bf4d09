from __future__ import annotations

from prism.lang import group, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def fill(c: ptr(float) @ thread[1]):
    c[0] = 0.0


@prism("device")
@requires(thread[32])
def case(x: ptr(float) @ thread[32]):
    with partition(x, thread[1], lambda i: 32 * i + id()) as mine:
        with group(thread[1]):
            fill(mine)  # error: call-ptr
