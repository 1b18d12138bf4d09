from __future__ import annotations

from prism.lang import column, fragment, group, prism, requires, thread, warpgroup


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    acc: fragment(float, 64, 64) @ warpgroup[1] = 0
    with group(thread[1]):
        r: int = column(acc)  # error: type
