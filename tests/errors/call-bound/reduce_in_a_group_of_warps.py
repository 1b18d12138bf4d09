from __future__ import annotations

from prism.lang import block, group, prism, requires, thread, warp


@prism("device")
@requires(thread[1])
def add(a: int @ thread[1], b: int @ thread[1]) -> int @ thread[1]:
    return a + b


@prism("device")
@requires(block[1], thread[64])
def case(value: int @ thread[1]):
    with group(warp[1]):
        sum: int @ thread[32] = block.reduce(value, OP=add)  # error: call-bound
