from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    m: int @ thread[1] = n + (1 << -1)  # error: type
