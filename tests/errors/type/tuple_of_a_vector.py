from __future__ import annotations

from prism.lang import float4, int32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1]) -> (int32, float4) @ thread[1]:  # error: type
    return n, float4(n)
