from __future__ import annotations

from prism.lang import group, prism, requires, thread


@prism("device")
@requires(thread[64])
def case(n: int @ thread[64]):
    with group(thread[8]):
        with group(thread[32]):  # error: group
            m: int @ thread[1] = n
