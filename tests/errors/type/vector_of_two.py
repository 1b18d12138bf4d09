from __future__ import annotations

from prism.lang import float4, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(a: float @ thread[1], b: float @ thread[1]):
    v: float4 = float4(a, b)  # error: type
