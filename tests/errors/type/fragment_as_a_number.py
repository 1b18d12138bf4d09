from __future__ import annotations

from prism.lang import fragment, prism, requires, thread, warpgroup


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    acc: fragment(float, 64, 64) @ warpgroup[1] = 0
    v: float @ thread[128] = acc  # error: type
