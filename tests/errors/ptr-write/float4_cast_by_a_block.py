from __future__ import annotations

from prism.lang import block, float4, float4_cast, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(p: ptr(float) @ block[1], v: float4 @ thread[1]):
    float4_cast[p[0]] = v  # error: ptr-write
