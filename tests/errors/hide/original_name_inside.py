from __future__ import annotations

from prism.lang import block, id, partition, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[1])
def case(n: int @ block[1]):
    S: shared(float[32]) @ block[1]
    with partition(S, thread[1], id()) as mine:
        x: float @ thread[1] = S[0]  # error: hide
