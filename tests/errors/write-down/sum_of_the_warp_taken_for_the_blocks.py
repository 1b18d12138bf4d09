from __future__ import annotations

from prism.lang import block, prism, requires, thread, warp_sum


@prism("device")
@requires(block[1], thread[32])
def case(value: int @ thread[1]):
    total: int @ block[1] = warp_sum(value)  # error: write-down
