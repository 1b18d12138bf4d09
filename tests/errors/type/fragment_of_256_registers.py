from __future__ import annotations

from prism.lang import fragment, prism, requires, thread, warpgroup


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    acc: fragment(float, 128, 256) @ warpgroup[1]  # error: type
