from __future__ import annotations

from prism.lang import block, group, prism, requires, thread, warp_sum


@prism("device")
@requires(thread[32])
def total(value: int @ thread[1]) -> int @ thread[32]:
    return warp_sum(value)


@prism("device")
@requires(block[1], thread[32])
def case(value: int @ thread[1]):
    with group(thread[1]):
        sum: int @ thread[1] = total(value)  # error: call-bound
