from __future__ import annotations

from prism.lang import fragment, prism, requires, row, thread, warpgroup


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    acc: fragment(float, 64, 64) @ warpgroup[1] = 0
    v: int @ thread[1] = row(acc, 0)  # error: read-up
