from __future__ import annotations

from prism.lang import block, const, prism, partition, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(int)) @ block[1], y: ptr(const(int)) @ block[1]):
    q: ptr(const(int)) @ block[1] = x
    with partition(y, block[1], 4) as part:
        q = part  # error: ptr-rebind
