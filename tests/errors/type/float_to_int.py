from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float @ thread[1]):
    n: int @ thread[1] = x  # error: type
