from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    for i in range(0, 4, 1):
        i = 2  # error: loop
