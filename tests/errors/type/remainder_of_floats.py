from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float @ thread[1]):
    y: float @ thread[1] = x % 2.0  # error: type
