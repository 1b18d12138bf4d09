from __future__ import annotations

from prism.lang import group, id, prism, requires, shuffle_down, thread


@prism("device")
@requires(thread[32])
def case(value: int @ thread[1]):
    lane: int @ thread[1] = id()
    sum: int @ thread[1] = value
    with group(thread[1]):
        if lane < 16:
            sum += shuffle_down(value, 16)  # error: call-bound
