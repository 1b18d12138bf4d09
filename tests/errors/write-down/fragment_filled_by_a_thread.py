from __future__ import annotations

from prism.lang import fragment, group, prism, requires, thread, warpgroup


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    acc: fragment(float, 64, 64) @ warpgroup[1]
    with group(thread[1]):
        acc = 0  # error: write-down
