from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    a: int[2][3] @ thread[1] = {0}
    a[1] = n  # error: type
