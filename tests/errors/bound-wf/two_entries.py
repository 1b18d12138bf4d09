from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[32], thread[48])  # error: bound-wf
def case(n: int @ thread[1]):
    m: int @ thread[1] = n
