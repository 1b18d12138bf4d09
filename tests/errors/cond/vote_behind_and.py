from __future__ import annotations

from prism.lang import id, prism, requires, thread, warp_any


@prism("device")
@requires(thread[32])
def case(value: int @ thread[1]):
    lane: int @ thread[1] = id()
    b: bool @ thread[1] = lane > 0 and warp_any(value > 0)  # error: cond
