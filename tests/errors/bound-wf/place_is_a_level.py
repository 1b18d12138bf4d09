from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    m: int @ thread = n  # error: bound-wf
