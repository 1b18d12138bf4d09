from __future__ import annotations

from prism.lang import atomic_add, prism, requires, thread, uint32


@prism("device")
@requires(thread[1])
def case(n: uint32 @ thread[1]):
    atomic_add(n, 1)  # error: type
