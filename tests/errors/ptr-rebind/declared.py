from __future__ import annotations

from prism.lang import block, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(p: ptr(int) @ block[1]):
    q: ptr(int) @ thread[1] = p  # error: ptr-rebind
