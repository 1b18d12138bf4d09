from __future__ import annotations

from prism.lang import fragment, prism, requires, thread, warp


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    acc: fragment(float, 32, 64) @ warp[1]  # error: type
