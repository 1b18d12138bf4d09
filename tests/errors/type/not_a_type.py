from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: 3 @ thread[1]):  # error: type
    m: int @ thread[1] = 1
