from __future__ import annotations

from prism.lang import group, prism, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    with group(thread[0]):  # error: bound-wf
        m: int @ thread[1] = n
