from __future__ import annotations

from prism.lang import fragment, prism, requires, thread, warp


@prism("device")
@requires(thread[32])
def case(v: float @ thread[32]):
    acc: fragment(float, 16, 64) @ warp[1] = v  # error: type
