from __future__ import annotations

from prism.lang import atomic_add, prism, ptr, requires, thread, uint32


@prism("device")
@requires(thread[1])
def case(p: ptr(uint32) @ thread[1]):
    n: uint32 @ thread[1] = atomic_add(p[0], 1) + p[0]  # error: type
