from __future__ import annotations

from prism.lang import float4, fragment, prism, requires, thread, warpgroup


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    acc: fragment(float4, 64, 64) @ warpgroup[1]  # error: type
