from __future__ import annotations

from prism.lang import id, prism, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    left: int @ thread[1] = id()
    while left > 0:  # error: cond
        left -= 1
