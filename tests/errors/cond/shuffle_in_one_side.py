from __future__ import annotations

from prism.lang import id, prism, requires, shuffle_up, thread


@prism("device")
@requires(thread[32])
def case(value: int @ thread[1]):
    lane: int @ thread[1] = id()
    sum: int @ thread[1] = shuffle_up(value, 1) if lane > 0 else value  # error: cond
