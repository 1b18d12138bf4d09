from __future__ import annotations

from prism.lang import float4, float4_cast, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(p: ptr(int) @ thread[1]):
    v: float4 = float4_cast(p[0])  # error: type
