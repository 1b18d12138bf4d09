from __future__ import annotations

from prism.lang import block, id, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    t: int @ thread[1] = id()
    counts: int[32] @ block[1] = {0}
    counts[t] = 1  # error: read-up
