from __future__ import annotations

from prism.lang import prism, thread


@prism("device")
def case(n: int @ thread[1]):  # error: bound-wf
    m: int @ thread[1] = n
