from __future__ import annotations

from prism.lang import block, prism, requires, thread


@prism("device")
@requires(block[1], thread[32], cooperative=True)  # error: bound-wf
def case(n: int @ block[1]):
    m: int @ thread[1] = n
