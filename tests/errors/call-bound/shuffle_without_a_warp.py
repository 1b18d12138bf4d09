from __future__ import annotations

from prism.lang import block, prism, requires, shuffle_down, thread


@prism("device")
@requires(block[1], thread[1])
def case(value: int @ thread[1]):
    above: int @ thread[1] = shuffle_down(value, 1)  # error: call-bound
