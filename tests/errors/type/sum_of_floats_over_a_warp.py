from __future__ import annotations

from prism.lang import prism, requires, thread, warp_sum


@prism("device")
@requires(thread[32])
def case(x: float @ thread[1]):
    s: float @ thread[32] = warp_sum(x)  # error: type
