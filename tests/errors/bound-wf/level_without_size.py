from __future__ import annotations

from prism.lang import block, prism, requires, thread


@prism("device")
@requires(block, thread)  # error: bound-wf
def case(n: int @ thread[1]):
    m: int @ thread[1] = n
