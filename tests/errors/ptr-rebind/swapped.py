from __future__ import annotations

from prism.lang import block, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(int) @ block[1], buffer: ptr(float) @ block[1]):
    x = buffer  # error: ptr-rebind
