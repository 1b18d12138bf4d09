from __future__ import annotations

from prism.lang import float32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float32 @ thread[1]):
    weights: float32[4] = [1, 2, x]  # error: type
    weights[0] = x
