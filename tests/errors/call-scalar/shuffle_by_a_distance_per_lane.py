from __future__ import annotations

from prism.lang import id, prism, requires, shuffle_down, thread


@prism("device")
@requires(thread[32])
def case(value: int @ thread[1]):
    lane: int @ thread[1] = id()
    above: int @ thread[1] = shuffle_down(value, lane)  # error: call-scalar
