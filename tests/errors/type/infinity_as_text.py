from __future__ import annotations

from prism.lang import float32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float32 @ thread[1]) -> float32 @ thread[1]:
    least: float32 = float("-inf")  # error: type
    return max(x, least)
