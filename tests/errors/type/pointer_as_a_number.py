from __future__ import annotations

from prism.lang import prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(p: ptr(int) @ thread[1]):
    n: int @ thread[1] = p + 1  # error: type
