from __future__ import annotations

from prism.lang import block, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[1])
def case(u: int @ thread[1]):
    S: shared(float[32]) @ block[1]
    b: float @ block[1] = S[u]  # error: ptr-read
