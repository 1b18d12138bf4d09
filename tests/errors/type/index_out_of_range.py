from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    a: int[4] @ thread[1] = {0}
    a[4] = n  # error: type
