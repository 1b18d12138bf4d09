from __future__ import annotations

from prism.lang import prism, requires, thread, warp_sum


@prism("device")
@requires(thread[1])
def case(value: int @ thread[1]):
    sum: int @ thread[1] = warp_sum(value)  # error: call-bound
