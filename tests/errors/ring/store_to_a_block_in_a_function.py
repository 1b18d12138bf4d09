from __future__ import annotations

from prism.lang import float32, prism, ptr, requires, st_async, thread


@prism("device")
@requires(thread[1])
def case(p: ptr(float32) @ thread[1], x: float32 @ thread[1]):
    st_async(p[0], x, shift=1)  # error: ring
