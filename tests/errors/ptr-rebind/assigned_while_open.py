from __future__ import annotations

from prism.lang import block, const, prism, partition, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(int)) @ block[1], y: ptr(const(int)) @ block[1]):
    with partition(x, block[1], 4) as part:
        x = y  # error: ptr-rebind
