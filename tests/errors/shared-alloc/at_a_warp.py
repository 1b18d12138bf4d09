from __future__ import annotations

from prism.lang import block, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    s: shared(int[4]) @ thread[32]  # error: shared-alloc
