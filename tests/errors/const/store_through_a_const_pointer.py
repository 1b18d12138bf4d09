from __future__ import annotations

from prism.lang import const, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(p: ptr(const(int)) @ thread[1]):
    p[0] = 1  # error: const
