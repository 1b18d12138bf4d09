from __future__ import annotations

from prism.lang import block, const, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(int)) @ block[1]):
    q: ptr(int) @ block[1] = x  # error: ptr-rebind
