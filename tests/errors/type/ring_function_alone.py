from __future__ import annotations

from prism.lang import block, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    s: shared(float[128], ring=2) @ block[1]  # error: type
