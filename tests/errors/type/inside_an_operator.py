from __future__ import annotations

from prism.lang import block, prism, requires, thread


@prism("device")
@requires(thread[1])
def mean(a: int @ thread[1], b: int @ thread[1]) -> int @ thread[1]:
    return 0.5 * float(a + b)  # error: type


@prism("device")
@requires(block[1], thread[32])
def case(value: int @ thread[1]):
    sum: int @ block[1] = block.reduce(value, OP=mean)
