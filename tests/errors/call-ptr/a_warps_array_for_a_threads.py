from __future__ import annotations

from prism.lang import group, prism, requires, thread


@prism("device")
@requires(thread[1])
def clear(items: float[4] @ thread[1]):
    items[0] = 0.0


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    sums: float[4] @ thread[32] = {0}
    with group(thread[1]):
        clear(sums)  # error: call-ptr
