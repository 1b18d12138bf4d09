from __future__ import annotations

from prism.lang import block, const, id, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def load(n: int @ block[1]):
    m: int @ thread[1] = n


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(int)) @ block[1]):
    t: int @ thread[1] = id()
    load(t)  # error: call-scalar
