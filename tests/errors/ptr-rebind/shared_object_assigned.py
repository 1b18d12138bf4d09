from __future__ import annotations

from prism.lang import block, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(int) @ block[1]):
    buffer: shared(int[32]) @ block[1]
    buffer = x  # error: ptr-rebind
