from __future__ import annotations

from prism.lang import fragment, prism, requires, thread, warp


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    acc: fragment(float, 16, 12) @ warp[1]  # error: type
