from __future__ import annotations

from prism.lang import async_, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(p: ptr(int) @ thread[1]):
    with async_(p) as d:
        d[0] = 1  # error: async
