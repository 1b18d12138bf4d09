from __future__ import annotations

from prism.lang import const, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(thread[32])
def load(c: ptr(const(float)) @ thread[32]):
    v: float @ thread[32] = c[0]


@prism("device")
@requires(thread[32])
def case(x: ptr(const(float)) @ thread[32]):
    with partition(x, thread[1], id()) as mine:
        load(mine)  # error: call-ptr
