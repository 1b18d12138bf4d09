from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    for i in range(0, n, 0):  # error: loop
        m: int @ thread[1] = i
