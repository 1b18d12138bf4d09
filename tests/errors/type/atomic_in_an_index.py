from __future__ import annotations

from prism.lang import atomic_add, prism, ptr, requires, thread, uint32


@prism("device")
@requires(thread[1])
def case(p: ptr(uint32) @ thread[1], x: ptr(int) @ thread[1]):
    x[atomic_add(p[0], 1)] = 1  # error: type
