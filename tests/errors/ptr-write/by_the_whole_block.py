from __future__ import annotations

from prism.lang import block, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    S: shared(int[32]) @ block[1]
    S[0] = 1  # error: ptr-write
