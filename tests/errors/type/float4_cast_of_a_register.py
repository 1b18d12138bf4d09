from __future__ import annotations

from prism.lang import float4, float4_cast, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(a: float[8] @ thread[1], v: float4 @ thread[1]):
    float4_cast[a[4]] = v  # error: type
